import { createEventPublisher } from '../shared/runtime/stream/events.ts'
import { createActivityMeter } from '../shared/runtime/stream/statistics.ts'
import { composeHeadReader, flushMetrics } from './compose/compose.ts'
import { composeEventSystem } from './compose/compose-events.ts'
import { composePlanningSystem } from './compose/compose-timers.ts'
import { createRecordPlanner } from './plan-records.ts'

const system = composePlanningSystem()

/**
 * The planner, which reads the table's stream. It plans what each change calls for, publishes events, and counts outcomes, failures and
 * activity.
 */
export const handler = createRecordPlanner({
  system,
  heads: composeHeadReader(),
  publishEvents: createEventPublisher(composeEventSystem(system)),
  activity: createActivityMeter(system),
  flushMetrics,
})
