import type { RunContext } from '../../../shared/define/definitions.ts'
import { Next } from '../../../shared/signals.ts'

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

/** The context that a handler receives besides its input, with these particulars. */
export function aTaskContext(particulars: Partial<RunContext> = {}): RunContext {
  return {
    taskId: 'webhook:k',
    type: 'webhook',
    key: 'k',
    runId: 'r',
    attempt: 2,
    fence: 3,
    idempotencyKey: 'webhook:k/b',
    signal: new AbortController().signal,
    progress: () => {},
    next: stage => new Next(stage),
    publish: async () => ({ id: '', created: true }),
    log: silent,
    ...particulars,
  }
}
