import type { LibraryFacts, MachineFacts, TrtexecFacts } from '../../machine/machine-facts.ts';
import { formatTensorrtVersion, type TensorrtVersion } from '../../text/version.ts';
import { check } from './answer.ts';
import { driverChecks } from './driver-checks.ts';
import { gpuChecks } from './gpu-checks.ts';
import { hostChecks } from './host-checks.ts';
import type { DoctorCheck } from './output.ts';
import { storeChecks } from './store-checks.ts';
import { toolChecks } from './tool-checks.ts';

/** Every check of a machine, in the order in which a newcomer mends them. */
export function judgeMachine(facts: MachineFacts): DoctorCheck[] {
  return [
    ...trtexecChecks(facts),
    ...driverChecks(facts),
    ...gpuChecks(facts),
    ...hostChecks(facts),
    ...storeChecks(facts),
    ...toolChecks(facts),
  ];
}

/** What keeps this machine from measuring. */
export function lackingOf(checks: readonly DoctorCheck[]): DoctorCheck[] {
  return checks.filter(({ essential, state }) => essential && state === 'failed');
}

const GROUP = 'trtexec';

function trtexecChecks({ trtexec, isReplay }: MachineFacts): DoctorCheck[] {
  const essential = !isReplay;
  if (trtexec.kind === 'missing') {
    return [
      check(GROUP, 'trtexec.found', 'found', essential ? 'failed' : 'absent', trtexec.problem, {
        mend: 'export TRTEXEC=/path/to/trtexec   # it comes with TensorRT: /usr/src/tensorrt/bin in containers and packages',
        essential,
      }),
    ];
  }
  const { help, library, path } = trtexec;
  const version = help.kind === 'version' ? help.version : null;
  return [
    check(GROUP, 'trtexec.found', 'found', 'ok', path, { essential }),
    help.kind === 'version'
      ? check(GROUP, 'trtexec.runs', 'runs', 'ok', `TensorRT ${formatTensorrtVersion(help.version)}`, { essential })
      : check(GROUP, 'trtexec.runs', 'runs', 'failed', help.problem, {
          mend: `${path} --help   # see what it says; a library that it lacks belongs on LD_LIBRARY_PATH`,
          essential,
        }),
    libraryCheck(library, version, trtexec, essential),
  ];
}

function libraryCheck(
  library: LibraryFacts,
  version: TensorrtVersion | null,
  trtexec: Extract<TrtexecFacts, { kind: 'found' }>,
  essential: boolean,
): DoctorCheck {
  const id = 'trtexec.library';
  const title = 'library';
  if (library.kind === 'unknown') return check(GROUP, id, title, 'advice', library.why);
  if (library.kind === 'missing') {
    const folder = library.beside ?? '/path/to/TensorRT/lib';
    return check(GROUP, id, title, 'failed', `the loader does not find ${library.name}`, {
      mend: `export LD_LIBRARY_PATH=${folder}:$LD_LIBRARY_PATH`,
      essential,
    });
  }
  const seen = library.version === null ? '' : ` (${library.version})`;
  const evidence = `${library.path}${seen}`;
  const own = version === null ? null : formatTensorrtVersion(version);
  const isOther = own !== null && library.version !== null && !`${library.version}.`.startsWith(`${own}.`);
  if (!isOther) return check(GROUP, id, title, 'ok', evidence, { essential });
  return check(GROUP, id, title, 'warning', `${evidence}, but ${trtexec.path} is of ${own}`, {
    mend: `export LD_LIBRARY_PATH=/path/to/TensorRT-${own}/lib:$LD_LIBRARY_PATH`,
  });
}
