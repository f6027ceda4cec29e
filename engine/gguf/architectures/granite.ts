import type { LayerKind } from '../../model/layer-kind.ts';
import { applied } from '../metadata-rule.ts';
import type { Family } from './family.ts';

const SOURCE = 'engine/gguf/architectures/granite.ts';

/**
 * Granite 3 and later (IBM): embeddings, what layers add, scores and logits have factors of their own. Files that say that
 * angles were not tuned (`rope.scaling.finetuned` false) have no rotation.
 */
export const granite: Family = {
  pairs: 'adjacent',
  rules: {
    embedding_scale: applied(SOURCE),
    residual_scale: applied(SOURCE),
    logit_scale: applied(SOURCE),
    'attention.scale': applied(SOURCE),
    'rope.scaling.finetuned': applied(SOURCE),
  },
  kinds(usual, { fields, key, layers }) {
    const scale = fields.factor(key('attention.scale'));
    const residualScale = fields.factor(key('residual_scale'));
    const isRotated = fields.optionalBool(key('rope.scaling.finetuned')) ?? true;
    const kind: LayerKind = {
      ...usual,
      mixer: {
        ...usual.mixer,
        rotation: isRotated ? 'global' : 'none',
        ...(scale !== undefined && { scale }),
      },
      ...(residualScale !== undefined && { residualScale }),
    };
    return new Array<LayerKind>(layers).fill(kind);
  },
  whole({ fields, key }) {
    const embeddingScale = fields.factor(key('embedding_scale'));
    const divisor = fields.factor(key('logit_scale'));
    return {
      ...(embeddingScale !== undefined && { embeddingScale }),
      ...(divisor !== undefined && { logitScale: 1 / divisor }),
    };
  },
};
