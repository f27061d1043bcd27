import { buildMemoryBytes } from '../../machine/host-facts.ts';
import type { HostState, MachineFacts } from './gather.ts';
import type { LibraryFacts } from '../../trtexec/program/trtexec-facts.ts';
import { type Answer, problemOf } from '../../process/ask.ts';
import type { StoreHealth } from '../../store/verify/verify-store.ts';
import { formatBytes } from '../../terminal/numbers.ts';
import { formatTensorrtVersion } from '../../text/version.ts';
import { modeloptInstall, readPythonVersions } from '../../tools/modelopt/packages.ts';
import { type CheckRow, checksOf, driverChecks, fineUnless, gpuChecks, type Judged } from './gpu-checks.ts';
import type { DoctorCheck } from './output.ts';

type FolderFacts = MachineFacts['folders'][number];

const GIB = 2 ** 30;
const WARN_BYTES = 10 * GIB;
const LEAST_BYTES = GIB;
/** Above this share of busy CPUs, launches are delayed. */
const BUSY_SHARE = 0.5;
/** Assumed without a matrix. */
const USUAL_MODEL_BYTES = GIB;

/** Checks in the order in which a newcomer fixes them. */
export function judgeMachine(facts: MachineFacts): DoctorCheck[] {
  const { folders, git, host, nsys, python, slurm, store } = facts;
  return [
    ...checksOf('trtexec', 'trtexec', trtexecRows(facts)),
    ...driverChecks(facts),
    ...gpuChecks(facts),
    ...checksOf('host', 'host', [
      ['node', 'Node', ['ok', host.node]],
      ['load', 'CPUs', load(host)],
      ['memory', 'host memory', memory(facts)],
      ['governor', 'CPU governor', governor(host)],
      ['numa', 'NUMA', numa(facts)],
    ]),
    ...checksOf('store', 'store', [['database', 'database', database(store), true], ...folders.flatMap(folderRows)]),
    ...checksOf('tools', 'tools', [
      ['modelopt', 'ModelOpt', modelopt(python)],
      ['nsys', 'Nsight Systems', tool(nsys, 'only for profiles: it comes with the CUDA toolkit')],
      ['slurm', 'Slurm', tool(slurm, 'only on a cluster')],
      ['git', 'git', tool(git, 'without it results have no commit: install git')],
      ['repository', 'repository', repositoryOf(facts)],
    ]),
  ];
}

export function lackingOf(checks: readonly DoctorCheck[]): DoctorCheck[] {
  return checks.filter(({ essential, state }) => essential && state === 'failed');
}

function database(store: StoreHealth): Judged {
  const rebuild = 'bench import artefacts --db new.sqlite';
  if (store.kind === 'none') return ['ok', `${store.path}: the first bench run creates it`];
  if (store.kind === 'refused') {
    const mend = `bench doctor --db FILE   # name the store; if this is a damaged one: ${rebuild}`;
    return ['failed', `${store.path} ${store.problem}`, mend];
  }
  if (store.quickCheck !== 'ok') {
    const mend = `${rebuild}   # keep the file, and rebuild it from the folder next to it`;
    return ['failed', `${store.path}: ${store.quickCheck}`, mend];
  }
  const sweeps = store.sweeps === null ? '' : `, ${store.sweeps} ${store.sweeps === 1 ? 'sweep' : 'sweeps'}`;
  const evidence = `${store.path}: ${formatBytes(store.bytes)}${sweeps}`;
  if (store.isNewer) return ['failed', `${evidence}, written by a newer version of bench`, '# update bench'];
  return ['ok', evidence];
}

function folderRows(folder: FolderFacts, index: number): CheckRow[] {
  const { holds, path, isThere, isWritable, networkFileSystem } = folder;
  const own: CheckRow = [`folder${index}`, holds, space(folder), true];
  if (!isThere || !isWritable || networkFileSystem === null) return [own];
  const mend = 'export BENCH_DB=/a/local/disk/bench.sqlite   # SQLite loses data on network file systems';
  return [own, [`folder${index}.network`, holds, ['warning', `${path} is on ${networkFileSystem}`, mend]]];
}

function space({ path, freeBytes, isThere, isWritable }: FolderFacts): Judged {
  if (!isThere) return ['failed', `${path} does not exist`, `mkdir -p ${path}`];
  if (!isWritable) return ['failed', `${path} is not writable`, `chmod u+w ${path}   # or another place: --db FILE`];
  const evidence = `${path}${freeBytes === null ? '' : `, ${formatBytes(freeBytes)} free`}`;
  if (freeBytes === null || freeBytes >= WARN_BYTES) return ['ok', evidence];
  const mend = `df -h ${path}   # engines and artefacts grow: free space, or another place with --db FILE`;
  return [freeBytes < LEAST_BYTES ? 'failed' : 'warning', evidence, mend];
}

function trtexecRows({ trtexec, isReplay }: MachineFacts): CheckRow[] {
  const essential = !isReplay;
  if (trtexec.kind === 'missing') {
    const mend =
      'export TRTEXEC=/path/to/trtexec   # it comes with TensorRT: /usr/src/tensorrt/bin in containers and packages';
    return [['found', 'found', [essential ? 'failed' : 'absent', trtexec.problem, mend], essential]];
  }
  const { help, library, path } = trtexec;
  const version = help.kind === 'version' ? formatTensorrtVersion(help.version) : null;
  const see = `${path} --help   # see what it says; a library that it lacks belongs on LD_LIBRARY_PATH`;
  const runs: Judged = help.kind === 'version' ? ['ok', `TensorRT ${version}`] : ['failed', help.problem, see];
  return [
    ['found', 'found', ['ok', path], essential],
    ['runs', 'runs', runs, essential],
    ['library', 'library', libraryOf(library, version, path), essential],
  ];
}

function libraryOf(library: LibraryFacts, trtexecVersion: string | null, trtexec: string): Judged {
  if (library.kind === 'unknown') return ['advice', library.why];
  if (library.kind === 'missing') {
    const mend = `export LD_LIBRARY_PATH=${library.nearby ?? '/path/to/TensorRT/lib'}:$LD_LIBRARY_PATH`;
    return ['failed', `the loader does not find ${library.name}`, mend];
  }
  const { path, version } = library;
  const evidence = `${path}${version === null ? '' : ` (${version})`}`;
  const isSame = trtexecVersion === null || version === null || `${version}.`.startsWith(`${trtexecVersion}.`);
  if (isSame) return ['ok', evidence];
  const mend = `export LD_LIBRARY_PATH=/path/to/TensorRT-${trtexecVersion}/lib:$LD_LIBRARY_PATH`;
  return ['warning', `${evidence}, but ${trtexec} is version ${trtexecVersion}`, mend];
}

function load({ loadPerCpu, cpuCount }: HostState): Judged | null {
  if (loadPerCpu === null) return null;
  const evidence = `load of ${loadPerCpu.toFixed(2)} on each of ${cpuCount} CPUs`;
  return loadPerCpu > BUSY_SHARE
    ? ['warning', `${evidence}: launches may wait`, 'top   # what else runs here?']
    : ['ok', evidence];
}

function memory({ host: { freeMemoryBytes, memoryBytes }, modelBytes }: MachineFacts): Judged {
  const needed = buildMemoryBytes(modelBytes ?? USUAL_MODEL_BYTES);
  const evidence = `${formatBytes(freeMemoryBytes)} of ${formatBytes(memoryBytes)} free`;
  if (freeMemoryBytes >= needed) return ['ok', evidence];
  const which = modelBytes === null ? 'a model of 1 GiB' : 'the largest model of the matrix';
  return ['warning', evidence, `free -h   # a build of ${which} needs about ${formatBytes(needed)}`];
}

function governor({ cpuGovernor }: HostState): Judged | null {
  const mend = 'sudo cpupower frequency-set --governor performance';
  const evidence = `${cpuGovernor}: enqueue times follow the CPU clock`;
  return fineUnless(/^(?!performance$)/, cpuGovernor, ['advice', evidence, mend]);
}

function numa({ host, gpus }: MachineFacts): Judged | null {
  if (host.numaNodes === null || host.numaNodes < 2 || gpus.kind === 'none') return null;
  const nodes = gpus.gpus.filter(({ numaNode }) => numaNode !== null);
  if (nodes.length === 0) return null;
  const where = nodes.map(({ index, numaNode }) => `GPU ${index} on node ${numaNode}`).join(', ');
  const mend = 'bench run MATRIX --numa auto   # binds runs to the node of their GPU, with numactl';
  return ['advice', `${where} of ${host.numaNodes}`, mend];
}

function tool(answer: Answer, without: string): Judged {
  if (answer.kind === 'answered') return ['ok', firstLine(answer.text)];
  return answer.kind === 'missing' ? ['absent', `not found; ${without}`] : ['advice', problemOf(answer)];
}

function repositoryOf({ git, repository: { commit, dirty } }: MachineFacts): Judged | null {
  if (git.kind !== 'answered') return null;
  const mend = '# start bench in the repository whose commits are measured, or name one: --commit REV';
  if (commit === null) return ['advice', 'no commit of a git repository is checked out here: results have none', mend];
  return ['ok', `${commit.slice(0, 8)}${dirty === true ? ', with uncommitted changes' : ''}`];
}

function modelopt({ answer, interpreter, isNamed }: MachineFacts['python']): Judged {
  const name = isNamed ? `${interpreter} ($BENCH_PYTHON)` : interpreter;
  const onlyFor = '# only to make FP8, INT8 and INT4 models';
  if (answer.kind !== 'answered') {
    const state = answer.kind === 'missing' && !isNamed ? 'absent' : 'warning';
    return [state, `${name}: ${problemOf(answer)}`, `export BENCH_PYTHON=/path/to/python3   ${onlyFor}`];
  }
  const found = readPythonVersions(answer.text);
  if (found === null) return ['warning', `${name} answers: ${firstLine(answer.text)}`];
  const { python, packages } = found;
  const there = packages.flatMap(([pack, version]) => (version === null ? [] : [`${pack} ${version}`]));
  const lacking = packages.flatMap(([pack, version]) => (version === null ? [`no ${pack}`] : []));
  const evidence = `${name} ${python}: ${[...there, ...lacking].join(', ')}`;
  if (lacking.length === 0) return ['ok', evidence];
  return ['absent', evidence, `${modeloptInstall(interpreter)}   ${onlyFor}`];
}

function firstLine(text: string): string {
  return text.trim().split('\n')[0]?.trim() ?? '';
}
