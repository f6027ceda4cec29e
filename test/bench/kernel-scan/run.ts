import { execFileSync, spawn } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Command } from 'commander';

/**
 * Scans of a disk by a kernel under both of its reclaim policies, in a machine that qemu emulates in software:
 *
 *     npx tsx test/bench/kernel-scan/run.ts --kernel vmlinuz --out scans.csv
 *
 * The kernel needs CONFIG_LRU_GEN, NVMe and a serial console built in, as Debian's linux-image-cloud-amd64 has them. All cells
 * take about half an hour.
 */
const options = new Command('kernel-scan')
  .description('bytes that a Linux kernel reads for scans of a mapped disk, under two lists and under MGLRU')
  .requiredOption('--kernel <file>', 'vmlinuz of a kernel that has both')
  .requiredOption('--out <file>', 'the CSV to write, as datasets/measured/kernel-generations.csv')
  .option('--percents <list>', 'sizes of scans, in percent of the memory that is available', '60,80,95,105,120,150')
  .option('--ways <list>', 'faults, populate, willneed', 'faults,populate,willneed')
  .option('--minutes <n>', 'after which the machine is ended, keeping what it has printed', '60')
  .parse()
  .opts<{ kernel: string; out: string; percents: string; ways: string; minutes: string }>();

const MEMORY_MIB = 192;
const DISK_BYTES = 400 * 2 ** 20;

const folder = mkdtempSync(join(tmpdir(), 'hearth-kernel-scan-'));
try {
  const [program, disk, image] = [join(folder, 'init'), join(folder, 'disk'), join(folder, 'initrd')];
  execFileSync('cc', ['-O2', '-static', '-o', program, join(import.meta.dirname, 'scan.c')], { stdio: 'inherit' });
  closeSync(openSync(disk, 'w'));
  truncateSync(disk, DISK_BYTES);
  writeFileSync(image, archiveOf('init', readFileSync(program)));
  const machine = spawn(
    'qemu-system-x86_64',
    [
      ...['-accel', 'tcg', '-m', String(MEMORY_MIB), '-nographic', '-no-reboot', '-nic', 'none'],
      ...['-kernel', options.kernel, '-initrd', image],
      ...['-drive', `file=${disk},if=none,id=disk,format=raw`, '-device', 'nvme,drive=disk,serial=1'],
      ...['-append', `console=ttyS0 quiet panic=-1 percents=${options.percents} ways=${options.ways}`],
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const timer = setTimeout(() => machine.kill('SIGKILL'), 60_000 * Number(options.minutes));
  const rows: string[] = [];
  for await (const line of createInterface({ input: machine.stdout })) {
    const [, text] = /SCAN (.*)/.exec(line) ?? [];
    if (text === undefined) continue;
    console.error(text);
    if (text.includes(',')) rows.push(text);
    writeFileSync(options.out, `${['how,policy,file_kib,token,read_kib,refaulted_pages', ...rows].join('\n')}\n`);
  }
  clearTimeout(timer);
} finally {
  rmSync(folder, { recursive: true });
}

/** An archive of one executable file in cpio's form "newc", which the kernel unpacks as its first file system. */
function archiveOf(name: string, content: Buffer): Buffer {
  return Buffer.concat([entryOf(name, 0o100755, content), entryOf('TRAILER!!!', 0, Buffer.alloc(0))]);
}

function entryOf(name: string, mode: number, content: Buffer): Buffer {
  const fields = [1, mode, 0, 0, 1, 0, content.length, 0, 0, 0, 0, name.length + 1, 0];
  const header = `070701${fields.map((field) => field.toString(16).padStart(8, '0')).join('')}${name}\0`;
  return Buffer.concat([padded(Buffer.from(header, 'latin1')), padded(content)]);
}

function padded(bytes: Buffer): Buffer {
  return Buffer.concat([bytes, Buffer.alloc(-bytes.length & 3)]);
}
