import type { Metadata, MetadataValue } from '../../engine/gguf/metadata-value.ts';

/** Metadata whose lists of texts are arrays, so that they can be compared. */
export function plainMetadata(metadata: Metadata): Map<string, MetadataValue> {
  return new Map([...metadata].map(([key, value]) => [key, plain(value)]));
}

function plain(value: MetadataValue): MetadataValue {
  if (value.type !== 'array' || value.value.of !== 'string') return value;
  return { type: 'array', value: { of: 'string', values: [...value.value.values] } };
}
