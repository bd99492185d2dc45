import { ANSWER_INVARIANTS } from './answers/answers.ts'
import { CANVAS_INVARIANTS } from './canvases/canvases.ts'
import { INPUT_INVARIANTS } from './canvases/handed-on.ts'
import { PURGED_CANVAS_INVARIANTS } from './canvases/purged-canvases.ts'
import { COST_INVARIANTS } from './costs/costs.ts'
import { LINE_LOOK_INVARIANTS } from './costs/line-looks.ts'
import { DAILY_MESSAGE_INVARIANTS } from './daily-messages.ts'
import { FAULT_INVARIANTS } from './faults.ts'
import { FLOW_INVARIANTS } from './flows.ts'
import type { Invariant } from './invariant.ts'
import { FREE_PERMIT_INVARIANTS } from './limits/free-permits.ts'
import { GIVEN_BACK_INVARIANTS } from './limits/given-back.ts'
import { LIMIT_INVARIANTS } from './limits/limits.ts'
import { LINE_ORDER_INVARIANTS } from './limits/line-order.ts'
import { PERMIT_INVARIANTS } from './limits/permits.ts'
import { QUIET_LIMIT_INVARIANTS } from './limits/quiet-limits.ts'
import { START_INVARIANTS } from './limits/starts.ts'
import { TENANT_INVARIANTS } from './limits/tenants.ts'
import { PAUSE_INVARIANTS } from './pauses.ts'
import { CALLBACK_INVARIANTS } from './publishing/callbacks.ts'
import { COALESCED_INVARIANTS } from './publishing/coalesced.ts'
import { EDIT_INVARIANTS } from './publishing/edits.ts'
import { KEPT_FIELD_INVARIANTS } from './publishing/kept-fields.ts'
import { KEYED_CALLBACK_INVARIANTS } from './publishing/keyed-callbacks.ts'
import { REFUSED_CHANGE_INVARIANTS } from './publishing/refused-changes.ts'
import { PURGE_INVARIANTS } from './purges.ts'
import { REPORT_ANSWER_INVARIANTS } from './report-answers.ts'
import { REPORT_INVARIANTS } from './reports.ts'
import { HANDLER_START_INVARIANTS } from './runs/beginnings.ts'
import { BIRTH_INVARIANTS } from './runs/births.ts'
import { CLEAN_RESTART_INVARIANTS } from './runs/clean-restarts.ts'
import { DELAY_INVARIANTS } from './runs/delays.ts'
import { FRONT_INVARIANTS } from './runs/front.ts'
import { LEASE_INVARIANTS } from './runs/leases.ts'
import { MOVED_TYPE_INVARIANTS } from './runs/moved-types.ts'
import { ORDER_INVARIANTS } from './runs/orders.ts'
import { OVERDUE_INVARIANTS } from './runs/overdue.ts'
import { OWN_RETRY_INVARIANTS } from './runs/own-retries.ts'
import { PROMPTNESS_INVARIANTS } from './runs/promptness.ts'
import { RUN_INVARIANTS } from './runs/runs.ts'
import { CLAIMER_INVARIANTS } from './runs/servers.ts'
import { FINAL_STATE_INVARIANTS } from './runs/settling.ts'
import { STAGE_INVARIANTS } from './runs/stages.ts'
import { LOST_TICK_INVARIANTS } from './schedules/lost-ticks.ts'
import { MISSED_TICK_INVARIANTS } from './schedules/missed-ticks.ts'
import { SCHEDULE_INVARIANTS } from './schedules/schedules.ts'
import { MESSAGE_INVARIANTS } from './sends.ts'
import { BODY_INVARIANTS } from './stored/bodies.ts'
import { DAMAGED_HEAD_INVARIANTS } from './stored/damaged-heads.ts'
import { INDEX_INVARIANTS } from './stored/index-entries.ts'
import { SIZE_INVARIANTS } from './stored/sizes.ts'
import { WRITE_INVARIANTS } from './writes.ts'

/**
 * Every invariant that simulated runs are judged by, and the entry of this room.
 *
 * Each file states promises to users as sentences, and judges the events of the history against them. It knows
 * nothing of the code. `invariant.ts` defines the type; `pieces.ts` and `tags.ts` read tasks.
 * `canvases/canvas-model.ts` and `canvases/hand-on-model.ts` compute once more what canvases must result in.
 * Read `writes.ts` first: its invariants judge single writes.
 */
export const INVARIANTS: readonly Invariant[] = [
  ...WRITE_INVARIANTS,
  ...BODY_INVARIANTS,
  ...BIRTH_INVARIANTS,
  ...RUN_INVARIANTS,
  ...REPORT_ANSWER_INVARIANTS,
  ...HANDLER_START_INVARIANTS,
  ...REPORT_INVARIANTS,
  ...KEPT_FIELD_INVARIANTS,
  ...CLAIMER_INVARIANTS,
  ...FLOW_INVARIANTS,
  ...CALLBACK_INVARIANTS,
  ...CANVAS_INVARIANTS,
  ...SCHEDULE_INVARIANTS,
  ...LOST_TICK_INVARIANTS,
  ...MISSED_TICK_INVARIANTS,
  ...INPUT_INVARIANTS,
  ...PURGE_INVARIANTS,
  ...LIMIT_INVARIANTS,
  ...PERMIT_INVARIANTS,
  ...PAUSE_INVARIANTS,
  ...TENANT_INVARIANTS,
  ...MESSAGE_INVARIANTS,
  ...FAULT_INVARIANTS,
  ...SIZE_INVARIANTS,
  ...DAMAGED_HEAD_INVARIANTS,
  ...START_INVARIANTS,
  ...ORDER_INVARIANTS,
  ...OVERDUE_INVARIANTS,
  ...MOVED_TYPE_INVARIANTS,
  ...PURGED_CANVAS_INVARIANTS,
  ...DAILY_MESSAGE_INVARIANTS,
  ...FRONT_INVARIANTS,
  ...COALESCED_INVARIANTS,
  ...KEYED_CALLBACK_INVARIANTS,
  ...EDIT_INVARIANTS,
  ...REFUSED_CHANGE_INVARIANTS,
  ...GIVEN_BACK_INVARIANTS,
  ...FREE_PERMIT_INVARIANTS,
  ...COST_INVARIANTS,
  ...LINE_LOOK_INVARIANTS,
  ...QUIET_LIMIT_INVARIANTS,
  ...LINE_ORDER_INVARIANTS,
  ...DELAY_INVARIANTS,
  ...CLEAN_RESTART_INVARIANTS,
  ...LEASE_INVARIANTS,
  ...STAGE_INVARIANTS,
  ...OWN_RETRY_INVARIANTS,
  ...INDEX_INVARIANTS,
  ...ANSWER_INVARIANTS,
  ...PROMPTNESS_INVARIANTS,
  ...FINAL_STATE_INVARIANTS,
]
