import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort } from './free-port.ts';

const PROGRAMS = ['munged', 'slurmctld', 'slurmd', 'sbatch', 'squeue', 'sinfo', 'scancel', 'scontrol'] as const;

/** Why Slurm can't be started here; `undefined` where it can. */
export const NO_SLURM = ((): string | undefined => {
  if (process.getuid?.() !== 0) return 'slurmd runs as root';
  const missing = PROGRAMS.filter((program) => !isInstalled(program));
  return missing.length === 0 ? undefined : `not installed: ${missing.join(', ')} (Debian: slurm-wlm)`;
})();

function isInstalled(program: string): boolean {
  try {
    execFileSync('which', [program], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

export interface TaskState {
  /** `COMPLETED`, `FAILED`, … */
  readonly state: string;
  readonly signal: number;
}

export interface Slurm {
  /** Environment variables with which Slurm's commands find this cluster. */
  readonly env: { readonly SLURM_CONF: string };
  /** States of the tasks of all jobs by job and task, such as `1_0`, with the code or the signal that ended them. */
  tasks(): ReadonlyMap<string, TaskState>;
  /** Ends all jobs, then the programs that were started. */
  stop(): Promise<void>;
}

/** Seconds within which the node must be idle. */
const START_SECONDS = 60;
/** Seconds within which cancelled jobs must end. */
const END_SECONDS = 20;

/**
 * Starts Slurm as a cluster of this machine: munged, slurmctld and slurmd on ports and sockets of their own, with
 * everything that they write in a temporary folder. Without cgroups and accounts. @throws Error with the programs' logs
 */
export async function startSlurm(cpus: number): Promise<Slurm> {
  // munged trusts no folder that others can write, and its clients must reach its socket.
  const folder = mkdtempSync(join(tmpdir(), 'hearth-slurm-'));
  chmodSync(folder, 0o711);
  const socket = join(folder, 'munge.socket');
  const key = join(folder, 'munge.key');
  writeFileSync(key, crypto.getRandomValues(new Uint8Array(128)), { mode: 0o400 });
  for (const name of ['state', 'spool']) mkdirSync(join(folder, name));
  const configuration = join(folder, 'slurm.conf');
  writeFileSync(configuration, await configurationText(folder, socket, cpus));
  const env = { SLURM_CONF: configuration };
  const started: ChildProcess[] = [];
  const start = (program: string, ...options: string[]): void => {
    started.push(spawn(program, options, { stdio: 'ignore', env: { ...process.env, ...env } }));
  };
  const ask = (program: string, ...options: string[]): string =>
    execFileSync(program, options, {
      encoding: 'utf8',
      stdio: 'pipe',
      env: { ...process.env, ...env },
      timeout: 10_000,
    });
  const stop = async (): Promise<void> => {
    for (const child of started.toReversed()) await end(child);
    rmSync(folder, { recursive: true, force: true });
  };
  const files = ['pid', 'log', 'seed'].map((name) => `--${name}-file=${join(folder, `munge.${name}`)}`);
  start('munged', '--foreground', `--socket=${socket}`, `--key-file=${key}`, ...files);
  start('slurmctld', '-D', '-f', configuration);
  start('slurmd', '-D', '-f', configuration);
  for (const limit = Date.now() + 1000 * START_SECONDS; ; await pause(100)) {
    try {
      if (ask('sinfo', '--noheader', '--format=%T').trim() === 'idle') break;
    } catch {}
    if (Date.now() < limit) continue;
    const logs = ['munge', 'slurmctld', 'slurmd'].map((name) => logTail(join(folder, `${name}.log`)));
    await stop();
    throw new Error(`Slurm’s node is not idle after ${START_SECONDS} s:\n${logs.join('\n')}`);
  }
  return {
    env,
    tasks: () => parseTasks(ask('scontrol', 'show', 'job', '--oneliner')),
    async stop() {
      try {
        ask('scancel', '--user=root');
        const limit = Date.now() + 1000 * END_SECONDS;
        while (ask('squeue', '--noheader').trim() !== '' && Date.now() < limit) await pause(100);
      } finally {
        await stop();
      }
    },
  };
}

async function configurationText(folder: string, socket: string, cpus: number): Promise<string> {
  const node = hostname().split('.')[0];
  const [controller, daemon] = [await freePort(), await freePort()];
  const own = (name: string): string => join(folder, name);
  return `ClusterName=hearth
SlurmctldHost=${node}(127.0.0.1)
SlurmctldPort=${controller}
SlurmdPort=${daemon}
AuthType=auth/munge
AuthInfo=socket=${socket}
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation=${own('state')}
SlurmdSpoolDir=${own('spool')}
SlurmctldPidFile=${own('slurmctld.pid')}
SlurmdPidFile=${own('slurmd.pid')}
SlurmctldLogFile=${own('slurmctld.log')}
SlurmdLogFile=${own('slurmd.log')}
MpiDefault=none
SwitchType=switch/none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
KillWait=1
NodeName=${node} NodeAddr=127.0.0.1 CPUs=${cpus} State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
`;
}

function parseTasks(text: string): Map<string, TaskState> {
  const pattern = /ArrayJobId=(\d+) ArrayTaskId=(\d+) .*?JobState=(\w+) .*?ExitCode=\d+:(\d+)/;
  return new Map(
    text.split('\n').flatMap((line) => {
      const [, job, task, state = '', signal] = pattern.exec(line) ?? [];
      return job === undefined ? [] : [[`${job}_${task}`, { state, signal: Number(signal) }]];
    }),
  );
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  const killer = setTimeout(() => child.kill('SIGKILL'), 5000);
  await ended;
  clearTimeout(killer);
}

function logTail(path: string): string {
  try {
    return readFileSync(path, 'utf8').split('\n').slice(-8).join('\n');
  } catch {
    return `${path} was not written`;
  }
}
