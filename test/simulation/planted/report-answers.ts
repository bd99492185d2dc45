import type { Task } from '../../../shared/core/task/task.ts'
import { readTask } from '../../../shared/runtime/kernel/heads.ts'
import { finishOverHttp } from '../../../shared/runtime/run/http-runs.ts'
import type { PlantedFault } from './planted-fault.ts'
import { withTaskWrites } from './task-writes.ts'

/** Faults in the answers to the reports of HTTP workers. */
export const REPORT_ANSWER_FAULTS: readonly PlantedFault[] = [
  {
    name: 'a run that has ended accepts any further report with the same outcome',
    needs: 'reports',
    spoil: system => system,
    finish: async (system, run, outcome, until) => {
      const answer = await finishOverHttp(system, run, outcome, until)
      const end = 'end' in answer ? answer.end : undefined
      const task =
        end?.state === STATE_AFTER[outcome.outcome] ? await readTask(system, run.taskId) : undefined
      return task ? { ok: true, task } : answer
    },
  },
  {
    name: 'a further report of an ended run is answered as if the run were lost',
    needs: 'reports',
    spoil: system => system,
    finish: async (system, run, outcome, until) => {
      const answer = await finishOverHttp(system, run, outcome, until)
      return !answer.ok && answer.reason === 'ended' ? { ...answer, reason: 'lost' } : answer
    },
  },
  {
    name: 'the digest of a report is not stored with its run',
    needs: 'reports',
    spoil: system =>
      withTaskWrites(
        system,
        apply => change =>
          apply({ ...change, after: { ...change.after, ended: withoutReport(change.after) } }),
      ),
  },
]

const STATE_AFTER = { succeed: 'succeeded', fail: 'failed', release: 'released' } as const

function withoutReport({ ended }: Task): Task['ended'] {
  return Object.fromEntries(
    Object.entries(ended).map(([fence, { reportDigest: _word, ...run }]) => [fence, run]),
  )
}
