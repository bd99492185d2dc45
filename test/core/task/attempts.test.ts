import { expect, it } from 'vitest'
import { attempts } from '../../../shared/core/task/piece.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import { anEndedRun, aRun, aTask, NOW } from '../../support/tasks/a-task.ts'
import { aFlowTask, doneTimes } from '../../support/tasks/flow-life.ts'

const failures = (count: number) =>
  Array.from({ length: count }, (_, i) => anEndedRun({ fence: i + 1, state: 'failed' }))

it.each<[string, Task, { used: number; left: number }]>([
  ['before the first run: maxRetries 3 allows four runs', aTask(), { used: 0, left: 4 }],
  ['while the first run goes on', aTask({ live: [aRun()] }), { used: 1, left: 3 }],
  ['after a failure', aTask({ ended: failures(1) }), { used: 1, left: 3 }],
  ['after a lost run', aTask({ ended: [anEndedRun({ state: 'lost' })] }), { used: 1, left: 3 }],
  ['after a release', aTask({ ended: [anEndedRun({ state: 'released' })] }), { used: 0, left: 4 }],
  [
    'after the task has failed',
    aTask({ state: 'failed', finishedAt: NOW, ended: failures(4) }),
    { used: 4, left: 0 },
  ],
  [
    'after the task has succeeded',
    aTask({ state: 'succeeded', finishedAt: NOW, ended: [anEndedRun()] }),
    { used: 1, left: 3 },
  ],
  [
    'after the task has failed for good, with budget left',
    aTask({ state: 'failed', finishedAt: NOW, ended: failures(2) }),
    { used: 2, left: 2 },
  ],
  ['of the last step of a flow that has ended', doneTimes(aFlowTask(), 3), { used: 1, left: 1 }],
  ['for two workers', aTask({ options: { concurrency: 2, retry: { maxRetries: 1 } } }), { used: 0, left: 3 }],
  [
    'with a budget for each of three listed workers',
    aTask({
      options: { workerIds: ['a', 'b', 'c'], retry: { scope: 'worker', maxRetries: 1 } },
      ended: failures(1),
    }),
    { used: 1, left: 5 },
  ],
])('attempts %s', (_name, task, expected) => {
  expect(attempts(task)).toEqual(expected)
})
