import type { TaskDefinition } from '../../../shared/define/definitions.ts'
import { probe } from './probe.ts'

export { clean, init } from './saga.ts'

/** The probe with the system's default options. */
export const video: TaskDefinition = { ...probe, type: 'video', config: { kind: 'handler', defaults: {} } }

/** The probe with its own options. */
export const clip: TaskDefinition = { ...probe, type: 'clip' }
