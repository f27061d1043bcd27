"""The peers of benchmarks/detection/compare.ts: reads unlabelled records, prints JSON lines.

    python peers.py histories FILE    {"peer", "id", "alarms": [[index, sign], ...]}, then {"peer", "msPerRecord"}
    python peers.py nightly FILE      {"peer", "id", "night", "alarms"}: the answer to the nights up to that one
    python peers.py cells FILE        {"peer", "id", "sign"}, then {"peer", "msPerRecord"}

Every peer sees the measured nights only, as missing ones are no part of most of their interfaces.
"""
import json
import multiprocessing
import statistics
import sys
import time
import warnings

import numpy as np
import ruptures
from asv import step_detect
from otava.analysis import compute_change_points
from scipy import stats

warnings.simplefilter('ignore', RuntimeWarning)  # equal nights in quantised series

PASSES = 5
TIMED_EVERY = 4


def side_levels(x, edges):
    """Boundaries of levels, each with the sign of the difference of the medians beside it."""
    starts = [0, *edges, len(x)]
    signs = []
    for before, at, after in zip(starts, starts[1:], starts[2:]):
        signs.append([at, int(np.sign(np.median(x[at:after]) - np.median(x[before:at])))])
    return signs


def otava(p):
    def find(x):
        points, _ = compute_change_points(list(x), window_len=50, max_pvalue=p, min_magnitude=0.0)
        return side_levels(x, sorted(int(point.index) for point in points))
    return find


def asv_steps(x):
    steps = step_detect.detect_steps(list(x))
    return side_levels(x, [int(step[0]) for step in steps[1:]])


def standardised(x):
    apart = np.abs(np.diff(x))
    scale = float(np.median(apart)) / (0.6745 * np.sqrt(2)) if len(apart) else 0.0
    return (x - np.median(x)) / max(scale, 1e-9 * abs(float(np.median(x))))


def pelt_rbf(x):
    z = standardised(x)
    return side_levels(x, ruptures.Pelt(model='rbf', min_size=3, jump=1).fit(z).predict(pen=5)[:-1])


def kernel_rbf(x):
    z = standardised(x).reshape(-1, 1)
    return side_levels(x, [int(e) for e in ruptures.KernelCPD(kernel='rbf', min_size=3).fit(z).predict(pen=5)[:-1]])


def windows(test, before, after, limit):
    """A two-sample test at every night; of neighbouring nights under the limit the clearest one."""
    def find(x):
        n = len(x)
        if n < before + after:
            return []
        left = np.lib.stride_tricks.sliding_window_view(x[:n - after], before)
        right = np.lib.stride_tricks.sliding_window_view(x[before:], after)
        p = test(left, right)
        found, at = [], 0
        while at < len(p):
            if not p[at] < limit:
                at += 1
                continue
            end = at
            while end < len(p) and p[end] < limit:
                end += 1
            best = at + int(np.argmin(p[at:end]))
            sign = int(np.sign(np.median(right[best]) - np.median(left[best])))
            found.append([best + before, sign])
            at = end
        return found
    return find


def welch(left, right):
    return stats.ttest_ind(left, right, axis=1, equal_var=False).pvalue


def rank(left, right):
    return stats.mannwhitneyu(left, right, axis=1, method='asymptotic').pvalue


HISTORIES = {
    'apache-otava, default': otava(.001),
    'apache-otava, p 1e-5': otava(1e-5),
    'ruptures Pelt rbf, penalty 5': pelt_rbf,
    'ruptures KernelCPD rbf, penalty 5': kernel_rbf,
    'asv step_detect': asv_steps,
    'Welch t, 10 | 5 nights, p .001': windows(welch, 10, 5, .001),
    'Mann-Whitney, 10 | 7 nights, p .001': windows(rank, 10, 7, .001),
}


# The same segmentation as KernelCPD's, a hundred times slower: asked about whole histories only.
NIGHTLY = [peer for peer in HISTORIES if 'Pelt' not in peer]


def measured(record):
    nights = [i for i, v in enumerate(record['values']) if v is not None]
    return nights, np.asarray([record['values'][i] for i in nights], float)


def placed(nights, alarms):
    return [[nights[index], sign] for index, sign in alarms]


def one_history(task):
    peer, record = task
    nights, x = measured(record)
    return dict(peer=peer, id=record['id'], alarms=placed(nights, HISTORIES[peer](x)))


def one_nightly(task):
    """Answers for the prefixes that end with each asked night."""
    peer, record = task
    nights, x = measured(record)
    answers = []
    for night in record['asked']:
        n = nights.index(night) + 1
        answers.append(dict(peer=peer, id=record['id'], night=night, alarms=placed(nights, HISTORIES[peer](x[:n]))))
    return answers


def sign_if(called, difference):
    return int(np.sign(difference)) if called else 0


def welch_of_means(cell):
    a, b = ([float(np.mean(run)) for run in cell[side]] for side in 'ab')
    return sign_if(stats.ttest_ind(a, b, equal_var=False).pvalue < .05, np.mean(b) - np.mean(a))


def pooled_ranks(cell):
    a, b = (np.concatenate([np.asarray(run) for run in cell[side]]) for side in 'ab')
    return sign_if(stats.mannwhitneyu(a, b, method='asymptotic').pvalue < .05, np.median(b) - np.median(a))


def two_percent(cell):
    a, b = (float(np.median(np.concatenate([np.asarray(run) for run in cell[side]]))) for side in 'ab')
    return sign_if(abs(b / a - 1) > .02, b - a)


CELLS = {
    'Welch t on run means, p .05': welch_of_means,
    'Mann-Whitney, pooled iterations, p .05': pooled_ranks,
    '2 % on medians': two_percent,
}


def timed(peers, records):
    """Milliseconds a record: the peers take turns, pass by pass; the median of the passes."""
    times = {peer: [] for peer in peers}
    for number in range(PASSES + 1):
        for peer, work in peers.items():
            start = time.perf_counter()
            for record in records:
                work(record)
            if number > 0:
                times[peer].append((time.perf_counter() - start) * 1000 / len(records))
    for peer, passes in times.items():
        print(json.dumps(dict(peer=peer, msPerRecord=statistics.median(passes))), flush=True)


def main():
    what, path = sys.argv[1:]
    with open(path) as file:
        records = [json.loads(line) for line in file]
    if what == 'cells':
        for peer, decide in CELLS.items():
            for cell in records:
                print(json.dumps(dict(peer=peer, id=cell['cell'], sign=decide(cell))))
        timed(CELLS, records[::TIMED_EVERY])
        return
    tasks = [(peer, record) for peer in (NIGHTLY if what == 'nightly' else HISTORIES) for record in records]
    with multiprocessing.Pool() as pool:
        if what == 'nightly':
            for answers in pool.imap(one_nightly, tasks, chunksize=2):
                print('\n'.join(map(json.dumps, answers)))
            return
        for answer in pool.imap(one_history, tasks, chunksize=8):
            print(json.dumps(answer))
    sample = [measured(record)[1] for record in records[::TIMED_EVERY]]
    timed(HISTORIES, sample)


if __name__ == '__main__':
    main()
