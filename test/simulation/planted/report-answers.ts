import type { Task } from '../../../shared/core/task/task.ts'
import { finishOverHttp } from '../../../shared/runtime/run/http-runs.ts'
import type { PlantedFault } from './planted-fault.ts'

/** Faults in what the workers over HTTP are told of their runs. */
export const REPORT_ANSWER_FAULTS: readonly PlantedFault[] = [
  {
    name: 'a run that has ended takes any word of the kind that ended it',
    needs: 'reports',
    spoil: system => system,
    finish: async (system, run, outcome, until) => {
      const answer = await finishOverHttp(system, run, outcome, until)
      const end = 'end' in answer ? answer.end : undefined
      const task =
        end?.state === STATE_AFTER[outcome.outcome] ? await system.tasks.head(run.taskId) : undefined
      return task ? { ok: true, task } : answer
    },
  },
  {
    name: 'a run that its worker has ended counts as lost',
    needs: 'reports',
    spoil: system => system,
    finish: async (system, run, outcome, until) => {
      const answer = await finishOverHttp(system, run, outcome, until)
      return !answer.ok && answer.reason === 'ended' ? { ...answer, reason: 'lost' } : answer
    },
  },
  {
    name: 'nothing but the result and the short error is kept of a word',
    needs: 'reports',
    spoil: system => ({
      ...system,
      tasks: {
        ...system.tasks,
        apply: change =>
          system.tasks.apply({ ...change, after: { ...change.after, ended: wordless(change.after) } }),
      },
    }),
  },
]

const STATE_AFTER = { succeed: 'succeeded', fail: 'failed', release: 'released' } as const

function wordless({ ended }: Task): Task['ended'] {
  return Object.fromEntries(Object.entries(ended).map(([fence, { word: _word, ...run }]) => [fence, run]))
}
