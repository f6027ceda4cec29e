import { type ServedFigures, servedFigures } from '../../engine/trace/served-requests.ts';
import { type ServingParts, simulateServing } from '../../simulator/serving.ts';
import type { DrivenPass } from './drive.ts';
import { passPredictor, type Server } from './predicted.ts';

/** A load as it is simulated where passes take as long as they were measured, in the mean. */
export interface Paced {
  /** Seconds of the passes that were measured over those of the cost model. */
  readonly passFactor: number;
  readonly figures: ServedFigures;
}

/**
 * Simulates a load with passes that are longer by one factor, which tells errors of the cost model from those of
 * queueing: close to capacity, waiting grows by much more than passes do.
 */
export function simulatePaced(server: Server, parts: ServingParts, passes: readonly DrivenPass[]): Paced {
  const secondsOf = passPredictor(server);
  const measured = passes.reduce((sum, { seconds }) => sum + seconds, 0);
  const passFactor = measured / passes.reduce((sum, { load }) => sum + secondsOf(load), 0);
  const { pass, token } = server.host;
  // All else by a clock that goes slower by the factor.
  const { requests } = simulateServing({
    ...parts,
    host: { pass: pass / passFactor, token: token / passFactor },
    requests: parts.requests.map((request) => ({ ...request, arrival: request.arrival / passFactor })),
  });
  const figures = servedFigures(
    requests.map((request) => ({
      ...request,
      arrival: request.arrival * passFactor,
      begin: undefined,
      firstToken: request.firstToken * passFactor,
      end: request.end * passFactor,
    })),
  );
  return { passFactor, figures };
}
