import type { DoctorCheck } from './output.ts';
import type { GpusFacts, MachineFacts } from '../../machine/machine-facts.ts';
import { check, noAnswer } from './answer.ts';

const GROUP = 'GPU';

/**
 * The oldest driver for each CUDA major, on Linux: NVIDIA, CUDA Compatibility, "Minor Version Compatibility", table 1.
 */
const OLDEST_DRIVER: Readonly<Record<number, number>> = { 11: 450, 12: 525, 13: 580 };

export function driverChecks({ gpus, builtForCuda, host, isReplay }: MachineFacts): DoctorCheck[] {
  const essential = !isReplay && !host.isJetson;
  if (gpus.kind === 'none') return [noReport(gpus.answer, essential)];
  const visible = visibleCheck(gpus, essential);
  return gpus.driver === null ? [visible] : [visible, driverCheck(gpus.driver, gpus.cuda, builtForCuda, essential)];
}

function noReport(answer: Extract<GpusFacts, { kind: 'none' }>['answer'], essential: boolean): DoctorCheck {
  const mends = {
    missing: '# install the NVIDIA driver; in a container: docker run --gpus all …',
    silent: 'nvidia-smi   # a driver that hangs wants a reboot; dmesg | grep -i nvrm says why',
    refused: 'nvidia-smi   # is the driver of this kernel loaded? sudo modprobe nvidia',
  };
  const state = essential ? 'failed' : 'absent';
  return check(GROUP, 'gpu.visible', 'visible', state, `nvidia-smi: ${noAnswer(answer)}`, {
    mend: mends[answer.kind],
    essential,
  });
}

function visibleCheck({ gpus, hidden }: Extract<GpusFacts, { kind: 'report' }>, essential: boolean): DoctorCheck {
  const [id, title] = ['gpu.visible', 'visible'];
  if (gpus.length > 0) {
    const names = gpus.map(({ index, name, uuid }) => `${index}: ${name ?? 'GPU'} ${uuid ?? ''}`);
    const others = hidden === 0 ? '' : ` (${hidden} more hidden by CUDA_VISIBLE_DEVICES)`;
    return check(GROUP, id, title, 'ok', `${names.join(', ').trim()}${others}`, { essential });
  }
  const state = essential ? 'failed' : 'absent';
  return hidden > 0
    ? check(GROUP, id, title, state, `CUDA_VISIBLE_DEVICES hides all ${hidden}`, {
        mend: 'unset CUDA_VISIBLE_DEVICES',
        essential,
      })
    : check(GROUP, id, title, state, 'nvidia-smi sees no GPU', {
        mend: 'lspci | grep -i nvidia   # in a container: docker run --gpus all …',
        essential,
      });
}

function driverCheck(
  driver: string,
  cuda: string | null,
  builtForCuda: number | null,
  essential: boolean,
): DoctorCheck {
  const [id, title] = ['gpu.driver', 'driver'];
  const does = cuda === null ? '' : `, CUDA up to ${cuda}`;
  if (builtForCuda === null) {
    const evidence = `${driver}${does}; which CUDA this TensorRT was built for is not known`;
    return check(GROUP, id, title, 'ok', evidence);
  }
  const oldest = OLDEST_DRIVER[builtForCuda];
  const evidence = `${driver}${does}; TensorRT was built for CUDA ${builtForCuda}`;
  if (oldest === undefined || Number(driver.split('.')[0]) >= oldest) {
    return check(GROUP, id, title, 'ok', evidence, { essential });
  }
  return check(GROUP, id, title, 'failed', `${evidence}, which needs ${oldest} or newer`, {
    mend: `# install an NVIDIA driver of ${oldest} or newer, or a TensorRT for an older CUDA`,
    essential,
  });
}
