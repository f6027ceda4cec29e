import { checkAmount } from './amount.ts';
import { Effect, type Source } from './effect.ts';
import { Preemption } from './interrupt.ts';
import { Level, type LevelSummary } from './level.ts';
import { EventQueue } from './queue.ts';
import type { Simulation } from './simulation.ts';
import { list } from './text.ts';

/** A place at a server, held until it is released. */
export interface Claim {
  /** Gives the place back; nothing happens if that was done, or if the place was taken away. */
  release(): void;
}

/**
 * A number of equal places, each used by one at a time: the cores of a processor, the queue of a GPU. Who finds none
 * waits in line; the lowest priority goes first, then who came first.
 */
export interface Server {
  readonly name: string;
  readonly capacity: number;
  /** Waits for a place, keeps it for `seconds`, and gives it back. */
  serve(seconds: number, priority?: number): Effect<void>;
  /** Waits for a place, and keeps it until the claim is released. */
  acquire(priority?: number): Effect<Claim>;
  usage(): ServerUsage;
}

/** From the making of the server until now. */
export interface ServerUsage {
  /** Sum over the places of the seconds in which they were taken, and its share of all there were. */
  readonly busySeconds: number;
  readonly utilisation: number;
  /** Places given back, neither interrupted nor preempted. */
  readonly completed: number;
  readonly users: LevelSummary;
  readonly line: LevelSummary;
}

export interface ServerOptions {
  readonly name: string;
  /** Places; 1 unless given. */
  readonly capacity?: number;
  /**
   * Whether a request takes the place of a user of higher priority number: the highest there is, the latest of those. A
   * service that is cut short fails with a Preemption, which says how many seconds remain; the process of a claim is
   * interrupted with one, wherever it waits. The line is for them to join again.
   */
  readonly preemptive?: boolean;
}

/** @throws RangeError if the capacity is not a whole number, at least 1 */
export function createServer(simulation: Simulation, options: ServerOptions): Server {
  return new Places(simulation, options);
}

/** Someone who has a place, or wants one. */
class Request implements Claim {
  readonly effect: Effect<unknown, Request>;
  /** Index among the users; −1 outside. */
  place = -1;
  /** Rises with every place given: tells who came later. */
  turn = 0;
  /** When the service ends. */
  end = 0;

  constructor(
    private readonly server: Places,
    /** undefined: until released. */
    readonly seconds: number | undefined,
    readonly priority: number,
  ) {
    if (!Number.isFinite(priority)) throw new RangeError(`server "${server.name}": ${priority} is not a priority`);
    this.effect = new Effect(server, this);
  }

  release(): void {
    this.server.release(this);
  }
}

class Places implements Server, Source<Request> {
  readonly name: string;
  readonly capacity: number;
  private readonly preemptive: boolean;
  private turns = 0;
  private completed = 0;
  private readonly users: Request[] = [];
  private readonly line = new EventQueue<Effect<unknown, Request>>();
  private readonly userLevel: Level;
  private readonly lineLevel: Level;

  constructor(
    private readonly simulation: Simulation,
    { name, capacity = 1, preemptive = false }: ServerOptions,
  ) {
    if (!(Number.isInteger(capacity) && capacity >= 1))
      throw new RangeError(`server "${name}": capacity ${capacity} is not a whole number, at least 1`);
    this.name = name;
    this.capacity = capacity;
    this.preemptive = preemptive;
    this.userLevel = new Level(simulation.now);
    this.lineLevel = new Level(simulation.now);
  }

  serve(seconds: number, priority = 0): Effect<void, Request> {
    checkAmount(seconds, 'service at', this.name);
    return new Request(this, seconds, priority).effect as Effect<void, Request>;
  }

  acquire(priority = 0): Effect<Claim, Request> {
    return new Request(this, undefined, priority).effect as Effect<Claim, Request>;
  }

  usage(): ServerUsage {
    const { now } = this.simulation;
    const users = this.userLevel.summary(now);
    const line = this.lineLevel.summary(now);
    const utilisation = users.mean / this.capacity;
    return { busySeconds: users.integral, utilisation, completed: this.completed, users, line };
  }

  release(request: Request): void {
    if (request.place < 0) return;
    this.completed++;
    this.leave(request);
    this.admit();
  }

  begin(effect: Effect<unknown, Request>): void {
    const request = effect.detail;
    if (this.users.length < this.capacity) {
      this.enter(request);
      return;
    }
    const victim = this.victim(request.priority);
    if (victim !== undefined) this.replace(victim, request);
    else {
      this.line.push(effect, request.priority, 0);
      this.lineLevel.add(1, this.simulation.now);
    }
  }

  due(effect: Effect<unknown, Request>): void {
    this.release(effect.detail);
    effect.resume(undefined);
  }

  cancel(effect: Effect<unknown, Request>): void {
    if (effect.detail.place < 0) {
      this.line.discard(effect);
      this.lineLevel.add(-1, this.simulation.now);
      return;
    }
    this.simulation.unschedule(effect);
    this.leave(effect.detail);
    this.admit();
  }

  undo(effect: Effect<unknown, Request>): void {
    // A service that is over is over; a claim that nobody saw never was.
    if (effect.detail.place < 0) return;
    this.leave(effect.detail);
    this.admit();
  }

  remaining(effect: Effect<unknown, Request>): number | undefined {
    const { seconds, place, end } = effect.detail;
    return place < 0 || seconds === undefined ? seconds : end - this.simulation.now;
  }

  describe(): string {
    const holders = this.users.map(({ effect }) => {
      const { name, hasEnded } = effect.process;
      return `"${name}"${hasEnded ? ', which has ended' : ''}`;
    });
    return `server "${this.name}" (held by ${list(holders)})`;
  }

  private enter(request: Request): void {
    const { effect, seconds } = request;
    const { now } = this.simulation;
    request.place = this.users.push(request) - 1;
    request.turn = this.turns++;
    this.userLevel.add(1, now);
    if (seconds === undefined) effect.succeed(request);
    else {
      request.end = now + seconds;
      this.simulation.schedule(effect, request.end, effect.process.priority);
    }
  }

  /** The last user takes over the index of the one who leaves. */
  private leave(request: Request): void {
    const last = this.users.pop() as Request;
    if (last !== request) {
      this.users[request.place] = last;
      last.place = request.place;
    }
    request.place = -1;
    this.userLevel.add(-1, this.simulation.now);
  }

  /** Gives the place that is free to the first in line. */
  private admit(): void {
    const next = this.line.take();
    if (next === undefined) return;
    this.lineLevel.add(-1, this.simulation.now);
    this.enter(next.detail);
  }

  /** Who has to give way to a request of this priority. */
  private victim(priority: number): Request | undefined {
    if (!this.preemptive) return undefined;
    return this.users.reduce<Request | undefined>((worst, user) => {
      const least = worst?.priority ?? priority;
      const isWorse =
        user.priority > least || (worst !== undefined && user.priority === least && user.turn > worst.turn);
      return isWorse ? user : worst;
    }, undefined);
  }

  /** The victim hears of it last: what it gives up in turn finds the place taken. */
  private replace(victim: Request, by: Request): void {
    const { effect, seconds, end } = victim;
    const byName = by.effect.process.name;
    if (seconds !== undefined) this.simulation.unschedule(effect);
    this.leave(victim);
    this.enter(by);
    if (seconds !== undefined) effect.fail(new Preemption(this.name, byName, end - this.simulation.now));
    else effect.process.interruptWith((remaining) => new Preemption(this.name, byName, remaining));
  }
}
