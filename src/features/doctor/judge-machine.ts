import type { HostState } from '../../machine/host-facts.ts';
import type { LibraryFacts } from '../../trtexec/program/trtexec-facts.ts';
import type { MachineFacts, StoreHealth } from '../../machine/machine-facts.ts';
import type { PythonFacts } from '../../machine/machine-tools.ts';
import type { Answer } from '../../process/ask.ts';
import { formatTensorrtVersion, type TensorrtVersion } from '../../text/version.ts';
import { MODELOPT_INSTALL, readPythonVersions } from '../../tools/modelopt/names.ts';
import { type CheckRow, checksOf, type Judged, noAnswer } from './checks.ts';
import { driverChecks, gpuChecks } from './gpu-checks.ts';
import type { DoctorCheck } from './output.ts';
import type { FolderFacts } from '../../machine/folder-facts.ts';

const GIB = 2 ** 30;
const WARN_BYTES = 10 * GIB;
const LEAST_BYTES = GIB;
/** A WAL this long was never checkpointed: something keeps the database open. */
const LONG_WAL_BYTES = GIB;

function storeChecks({ store, folders }: MachineFacts): DoctorCheck[] {
  return checksOf('store', 'store', [['database', 'database', database(store)], ...folders.flatMap(folderRows)]);
}

function database(store: StoreHealth): Judged {
  const rebuild = 'bench import artefacts --db new.sqlite';
  const essential = true;
  if (store.kind === 'none') return { state: 'ok', evidence: `${store.path} is made by the first bench run` };
  if (store.kind === 'refused') {
    const mend = `bench doctor --db FILE   # name the store; if this is a damaged one: ${rebuild}`;
    return { state: 'failed', evidence: `${store.path} ${store.problem}`, mend, essential };
  }
  if (store.quickCheck !== 'ok') {
    const mend = `${rebuild}   # keep the file, and rebuild it from the folder next to it`;
    return { state: 'failed', evidence: `${store.path}: ${store.quickCheck}`, mend, essential };
  }
  const sweeps = store.sweeps === null ? '' : `, ${store.sweeps} ${store.sweeps === 1 ? 'sweep' : 'sweeps'}`;
  const evidence = `${store.path}: ${byteSize(store.bytes)}${sweeps}`;
  if (store.schema === 'newer') {
    return { state: 'failed', evidence: `${evidence}, written by a newer bench`, mend: '# update bench', essential };
  }
  if (store.walBytes > LONG_WAL_BYTES) {
    const mend = `lsof ${store.path}   # who keeps it open?`;
    return { state: 'warning', evidence: `${evidence}; its log has ${byteSize(store.walBytes)}`, mend };
  }
  const older = store.schema === 'older' ? '; of an older bench, brought up to date when next used' : '';
  return { state: 'ok', evidence: `${evidence}${older}`, essential };
}

function folderRows(folder: FolderFacts, index: number): CheckRow[] {
  const { holds, path, isThere, isWritable, networkFileSystem } = folder;
  const id = `folder${index}`;
  const own: CheckRow = [id, holds, { ...space(folder), essential: true }];
  if (!isThere || !isWritable || networkFileSystem === null) return [own];
  const mend = 'export BENCH_DB=/a/local/disk/bench.sqlite   # SQLite loses data on network file systems';
  return [own, [`${id}.network`, holds, { state: 'warning', evidence: `${path} is on ${networkFileSystem}`, mend }]];
}

function space({ path, freeBytes, isThere, isWritable }: FolderFacts): Judged {
  if (!isThere) return { state: 'failed', evidence: `${path} is not there`, mend: `mkdir -p ${path}` };
  if (!isWritable) {
    const mend = `chmod u+w ${path}   # or another place: --db FILE`;
    return { state: 'failed', evidence: `${path} may not be written`, mend };
  }
  const evidence = `${path}${freeBytes === null ? '' : `, ${byteSize(freeBytes)} free`}`;
  if (freeBytes === null || freeBytes >= WARN_BYTES) return { state: 'ok', evidence };
  const mend = `df -h ${path}   # engines and artefacts grow: free space, or another place with --db FILE`;
  return { state: freeBytes < LEAST_BYTES ? 'failed' : 'warning', evidence, mend };
}

function byteSize(bytes: number): string {
  if (bytes < 2 ** 20) return `${Math.ceil(bytes / 1024)} KiB`;
  return bytes < GIB ? `${Math.round(bytes / 2 ** 20)} MiB` : `${(bytes / GIB).toFixed(1)} GiB`;
}

/** In the order in which a newcomer fixes them. */
export function judgeMachine(facts: MachineFacts): DoctorCheck[] {
  return [trtexecChecks, driverChecks, gpuChecks, hostChecks, storeChecks, toolChecks].flatMap((judge) => judge(facts));
}

export function lackingOf(checks: readonly DoctorCheck[]): DoctorCheck[] {
  return checks.filter(({ essential, state }) => essential && state === 'failed');
}

function trtexecChecks({ trtexec, isReplay }: MachineFacts): DoctorCheck[] {
  const essential = !isReplay;
  if (trtexec.kind === 'missing') {
    const mend =
      'export TRTEXEC=/path/to/trtexec   # it comes with TensorRT: /usr/src/tensorrt/bin in containers and packages';
    const state = essential ? 'failed' : 'absent';
    return checksOf('trtexec', 'trtexec', [['found', 'found', { state, evidence: trtexec.problem, mend, essential }]]);
  }
  const { help, library, path } = trtexec;
  const version = help.kind === 'version' ? help.version : null;
  const runs: Judged =
    help.kind === 'version'
      ? { state: 'ok', evidence: `TensorRT ${formatTensorrtVersion(help.version)}` }
      : {
          state: 'failed',
          evidence: help.problem,
          mend: `${path} --help   # see what it says; a library that it lacks belongs on LD_LIBRARY_PATH`,
        };
  return checksOf('trtexec', 'trtexec', [
    ['found', 'found', { state: 'ok', evidence: path, essential }],
    ['runs', 'runs', { ...runs, essential }],
    ['library', 'library', libraryOf(library, version, path, essential)],
  ]);
}

function libraryOf(
  library: LibraryFacts,
  version: TensorrtVersion | null,
  trtexec: string,
  essential: boolean,
): Judged {
  if (library.kind === 'unknown') return { state: 'advice', evidence: library.why };
  if (library.kind === 'missing') {
    const folder = library.nearby ?? '/path/to/TensorRT/lib';
    const mend = `export LD_LIBRARY_PATH=${folder}:$LD_LIBRARY_PATH`;
    return { state: 'failed', evidence: `the loader does not find ${library.name}`, mend, essential };
  }
  const evidence = `${library.path}${library.version === null ? '' : ` (${library.version})`}`;
  const own = version === null ? null : formatTensorrtVersion(version);
  const isOther = own !== null && library.version !== null && !`${library.version}.`.startsWith(`${own}.`);
  if (!isOther) return { state: 'ok', evidence, essential };
  return {
    state: 'warning',
    evidence: `${evidence}, but ${trtexec} is of ${own}`,
    mend: `export LD_LIBRARY_PATH=/path/to/TensorRT-${own}/lib:$LD_LIBRARY_PATH`,
  };
}

/** Above this share of busy CPUs, launches are delayed. */
const BUSY_SHARE = 0.5;

function hostChecks(facts: MachineFacts): DoctorCheck[] {
  const { host } = facts;
  return checksOf('host', 'host', [
    ['node', 'Node', { state: 'ok', evidence: host.node }],
    ['load', 'CPUs', load(host)],
    ['memory', 'host memory', memory(host)],
    ['governor', 'CPU governor', governor(host)],
    ['numa', 'NUMA', numa(facts)],
  ]);
}

function load({ loadPerCpu, cpuCount }: HostState): Judged | null {
  if (loadPerCpu === null) return null;
  const evidence = `load of ${loadPerCpu.toFixed(2)} on each of ${cpuCount} CPUs`;
  return loadPerCpu > BUSY_SHARE
    ? { state: 'warning', evidence: `${evidence}: launches may wait`, mend: 'top   # what else runs here?' }
    : { state: 'ok', evidence };
}

/** A build holds its model, its weights and the engine at once. */
const LEAST_MEMORY_BYTES = 4 * 2 ** 30;

function memory({ freeMemoryBytes, isJetson, memoryBytes }: HostState): Judged {
  const evidence = `${byteSize(freeMemoryBytes)} of ${byteSize(memoryBytes)} free`;
  if (freeMemoryBytes >= LEAST_MEMORY_BYTES) return { state: 'ok', evidence };
  const shared = isJetson ? ', which the GPU shares: add swap' : '';
  const mend = `free -h   # a build takes several times the size of its model${shared}`;
  return { state: 'warning', evidence, mend };
}

function governor({ cpuGovernor }: HostState): Judged | null {
  if (cpuGovernor === null) return null;
  if (cpuGovernor === 'performance') return { state: 'ok', evidence: cpuGovernor };
  const mend = 'sudo cpupower frequency-set --governor performance';
  return { state: 'advice', evidence: `${cpuGovernor}: enqueue times follow the CPU clock`, mend };
}

function numa({ host, gpus, numactl }: MachineFacts): Judged | null {
  if (host.numaNodes === null || host.numaNodes < 2 || gpus.kind === 'none') return null;
  const nodes = gpus.gpus.flatMap(({ index, numaNode }) => (numaNode === null ? [] : [{ index, numaNode }]));
  const [first] = nodes;
  if (first === undefined) return null;
  const where = nodes.map(({ index, numaNode }) => `GPU ${index} on node ${numaNode}`).join(', ');
  const evidence = `${where} of ${host.numaNodes}`;
  const command = `numactl --cpunodebind=${first.numaNode} --membind=${first.numaNode} bench run MATRIX`;
  if (numactl.kind === 'answered') return { state: 'advice', evidence, mend: command };
  const mend = `sudo apt-get install numactl   # then: ${command}`;
  return { state: 'advice', evidence: `${evidence}, and numactl is not there`, mend };
}

function toolChecks(facts: MachineFacts): DoctorCheck[] {
  return checksOf('tools', 'tools', [
    ['modelopt', 'ModelOpt', modelopt(facts.python)],
    ['nsys', 'Nsight Systems', tool(facts.nsys, 'only for profiles: it comes with the CUDA toolkit')],
    ['slurm', 'Slurm', tool(facts.slurm, 'only on a cluster')],
    ['git', 'git', tool(facts.git, 'without it results have no commit: install git')],
    ['repository', 'repository', repositoryOf(facts)],
  ]);
}

function tool(answer: Answer, without: string): Judged {
  if (answer.kind === 'answered') return { state: 'ok', evidence: firstLine(answer.text) };
  return answer.kind === 'missing'
    ? { state: 'absent', evidence: `not found; ${without}` }
    : { state: 'warning', evidence: noAnswer(answer) };
}

function repositoryOf({ git, repository }: MachineFacts): Judged | null {
  if (git.kind !== 'answered') return null;
  if (repository.commit === null) {
    const mend = '# start bench in the repository whose commits are measured, or name one: --commit REV';
    return { state: 'advice', evidence: 'this folder is in no git repository: results have no commit', mend };
  }
  const changed = repository.dirty === true ? ', with uncommitted changes' : '';
  return { state: 'ok', evidence: `${repository.commit.slice(0, 8)}${changed}` };
}

function modelopt({ answer, interpreter, isNamed }: PythonFacts): Judged {
  const name = isNamed ? `${interpreter} ($BENCH_PYTHON)` : interpreter;
  const onlyFor = '# only to make FP8, INT8 and INT4 models';
  if (answer.kind !== 'answered') {
    const state = answer.kind === 'missing' && !isNamed ? 'absent' : 'warning';
    const mend = `export BENCH_PYTHON=/path/to/python3   ${onlyFor}`;
    return { state, evidence: `${name}: ${noAnswer(answer)}`, mend };
  }
  const found = readPythonVersions(answer.text);
  if (found === null) return { state: 'warning', evidence: `${name} answers: ${firstLine(answer.text)}` };
  const { python, packages } = found;
  const there = packages.flatMap(([pack, version]) => (version === null ? [] : [`${pack} ${version}`]));
  const lacking = packages.flatMap(([pack, version]) => (version === null ? [`no ${pack}`] : []));
  const evidence = `${name} ${python}: ${[...there, ...lacking].join(', ')}`;
  return lacking.length === 0
    ? { state: 'ok', evidence }
    : { state: 'absent', evidence, mend: `${interpreter} ${MODELOPT_INSTALL}   ${onlyFor}` };
}

function firstLine(text: string): string {
  return text.trim().split('\n')[0]?.trim() ?? '';
}
