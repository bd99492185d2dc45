import { defineTask } from '../../../shared/define/define-task.ts'
import { Fatal } from '../../../shared/signals.ts'

/** The orders of a test to a saga: the steps that fail for good, and those that end their process at the first attempt. */
type Orders = { readonly fails?: readonly string[]; readonly dies?: readonly string[] }

/** Defines a step of a saga. The orders name a step `init` and its undo `undo init`. */
function aStep(type: string) {
  return defineTask(type, {
    leaseMs: 1_500,
    heartbeatMs: 400,
    // When a process dies, each other task in it loses a run, too.
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
