import type { DoctorCheck } from './output.ts';
import type { MachineFacts, PythonFacts } from '../../machine/machine-facts.ts';
import type { Answer } from '../../process/ask.ts';
import { MODELOPT_INSTALL, readPythonVersions } from '../../tools/modelopt/names.ts';
import { check, firstLine, noAnswer } from './answer.ts';

const GROUP = 'tools';

/** What some commands need, and measuring does not. */
export function toolChecks(facts: MachineFacts): DoctorCheck[] {
  return [
    pythonCheck(facts.python),
    tool('nsys', 'Nsight Systems', facts.nsys, 'only for profiles: it comes with the CUDA toolkit'),
    tool('slurm', 'Slurm', facts.slurm, 'only on a cluster'),
    tool('git', 'git', facts.git, 'without it results have no commit: install git'),
    ...repositoryCheck(facts),
  ];
}

function tool(id: string, title: string, answer: Answer, without: string): DoctorCheck {
  if (answer.kind === 'answered') {
    return check(GROUP, `tools.${id}`, title, 'ok', firstLine(answer.text));
  }
  const isAbsent = answer.kind === 'missing';
  const evidence = isAbsent ? `not found; ${without}` : noAnswer(answer);
  return check(GROUP, `tools.${id}`, title, isAbsent ? 'absent' : 'warning', evidence);
}

function repositoryCheck({ git, repository }: MachineFacts): DoctorCheck[] {
  if (git.kind !== 'answered') return [];
  const [id, title] = ['tools.repository', 'repository'];
  if (repository.commit === null) {
    return [
      check(GROUP, id, title, 'advice', 'this folder is in no git repository: results have no commit', {
        mend: '# start bench in the repository whose commits are measured, or name one: --commit REV',
      }),
    ];
  }
  const changed = repository.dirty === true ? ', with uncommitted changes' : '';
  return [check(GROUP, id, title, 'ok', `${repository.commit.slice(0, 8)}${changed}`)];
}

function pythonCheck({ answer, interpreter, isNamed }: PythonFacts): DoctorCheck {
  const [id, title] = ['tools.modelopt', 'ModelOpt'];
  const name = isNamed ? `${interpreter} ($BENCH_PYTHON)` : interpreter;
  if (answer.kind !== 'answered') {
    const state = answer.kind === 'missing' && !isNamed ? 'absent' : 'warning';
    return check(GROUP, id, title, state, `${name}: ${noAnswer(answer)}`, {
      mend: 'export BENCH_PYTHON=/path/to/python3   # only to make FP8, INT8 and INT4 models',
    });
  }
  const found = readPythonVersions(answer.text);
  if (found === null) {
    return check(GROUP, id, title, 'warning', `${name} answers: ${firstLine(answer.text)}`);
  }
  const { python, packages } = found;
  const there = packages.flatMap(([pack, version]) => (version === null ? [] : [`${pack} ${version}`]));
  const lacking = packages.flatMap(([pack, version]) => (version === null ? [pack] : []));
  const evidence = `${name} ${python}: ${[...there, ...lacking.map((pack) => `no ${pack}`)].join(', ')}`;
  return lacking.length === 0
    ? check(GROUP, id, title, 'ok', evidence)
    : check(GROUP, id, title, 'absent', evidence, {
        mend: `${interpreter} ${MODELOPT_INSTALL}   # only to make FP8, INT8 and INT4 models`,
      });
}
