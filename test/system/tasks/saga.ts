import { defineTask } from '../../../shared/define/define-task.ts'
import { Fatal } from '../../../shared/signals.ts'

/** What a test tells the steps of a saga: which fail for good, and which end their process at the first attempt. */
type Orders = { readonly fails?: readonly string[]; readonly dies?: readonly string[] }

/** A step of a saga. It does what the flow's input says under its own name: `init`, or `undo init`. */
function aStep(type: string) {
  return defineTask(type, {
    leaseMs: 1_500,
    heartbeatMs: 400,
    // A task in the same process as one that dies loses a run, too.
    retry: { maxRetries: 9, backoff: 'fixed', delayMs: 20 },
    run(_input, { params = {}, step, direction, attempt }) {
      const { fails = [], dies = [] } = params as Orders
      const name = direction === 'undo' ? `undo ${step}` : String(step)
      if (dies.includes(name) && attempt === 1) process.exit(1)
      if (fails.includes(name)) throw new Fatal(`${name} fails on purpose`)
      return { by: type, sees: Object.keys(params).sort() }
    },
  })
}

export const check = aStep('resource.check')
export const report = aStep('monitor.report')
export const init = aStep('mysql.init')
export const clean = aStep('mysql.clean')
