import type { TaskDefinition } from '../../../shared/define/define-task.ts'
import { probe } from './probe.ts'

export { clean, init } from './saga.ts'

/** The probe under the system's default settings. */
export const video: TaskDefinition = { ...probe, type: 'video', config: { kind: 'handler', defaults: {} } }

/** The probe with its own settings. */
export const clip: TaskDefinition = { ...probe, type: 'clip' }
