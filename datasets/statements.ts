/** A quantity of a cluster file as it is written there, with its source. */
export interface Statement {
  /** Device or link, and key: `D2 gpu.bandwidth`, `links.default.latency`. */
  readonly place: string;
  /** As written: `448 GB/s`. */
  readonly value: string;
  /** Share of the value that the cost model takes. */
  readonly efficiency: number;
  readonly kind: StatementKind;
  /** The rest of the source after its kind; '' for quantities in the short form. */
  readonly source: string;
}

export const STATEMENT_KINDS = [
  'published',
  'specification',
  'derived',
  'measured',
  'calibrated',
  'assumed',
  'unstated',
] as const;
export type StatementKind = (typeof STATEMENT_KINDS)[number];

/** Keys whose text isn't a quantity. */
const LABELS: ReadonlySet<string> = new Set(['name', 'description', 'head', 'os', 'api', 'between']);

/** Every quantity of a cluster file that parseCluster has accepted, in the order of the file. */
export function clusterStatements(root: unknown): Statement[] {
  const found: Statement[] = [];
  const visit = (value: unknown, place: string): void => {
    if (typeof value === 'string') {
      found.push({ place, value, efficiency: 1, kind: 'unstated', source: '' });
    } else if (Array.isArray(value)) {
      value.forEach((item, index) => {
        visit(item, `${place}[${index}]`);
      });
    } else if (isObject(value)) {
      if (typeof value.value === 'string') found.push(statement(value, place));
      else visitEntries(value, place);
    }
  };
  const visitEntries = (object: Record<string, unknown>, place: string): void => {
    for (const [key, value] of Object.entries(object)) {
      if (!LABELS.has(key)) visit(value, `${place}${/[\w\]]$/.test(place) ? '.' : ''}${key}`);
    }
  };
  if (!isObject(root)) return found;
  const { devices, ...rest } = root;
  for (const device of Array.isArray(devices) ? devices : []) {
    if (!isObject(device)) continue;
    visitEntries(device, `${String(device.name)} `);
    if (device.os === 'windows') found.push(windowsStatement(String(device.name)));
  }
  visitEntries(rest, '');
  return found;
}

/** The one statement about an operating system that is no published equation: see deviceKind. */
function windowsStatement(device: string): Statement {
  return {
    place: `${device} os`,
    value: 'windows',
    efficiency: 1,
    kind: 'assumed',
    source: 'reclaims mapped weights and reads ahead as Linux does',
  };
}

function statement(quantity: Record<string, unknown>, place: string): Statement {
  const { value, efficiency = 1, source = '' } = quantity;
  const text = String(source);
  const kind = STATEMENT_KINDS.find((name) => text.startsWith(name)) ?? 'unstated';
  return {
    place,
    value: String(value),
    efficiency: Number(efficiency),
    kind,
    source: kind === 'unstated' ? text : text.slice(kind.length).replace(/^[:\s]+/, ''),
  };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
