import type { ApiType, PausedType } from '../../api/types.ts'
import { editsOf } from '../../core/change/edits.ts'
import { orderingOf, shardsOf, type TaskType, type WebhookSettings } from '../../core/types/task-type.ts'
import { withoutUser } from '../../core/types/webhook-url.ts'
import { defined } from '../../core/values/defined.ts'
import { iso, isoOf } from './iso.ts'
import { presentOperations } from './tasks.ts'

/** A task type as the API shows it, with the system's defaults filled in. */
export function presentType(type: TaskType): ApiType {
  const { kind, defaults, limits, webhook, steps, onCancel, inputSchema } = type.configuration
  return {
    ...defined({
      type: type.type,
      kind,
      defaults,
      ordering: orderingOf(type),
      limits,
      shards: shardsOf(type.configuration),
      events: type.configuration.events ?? false,
      webhook: webhook && shownWebhook(webhook),
      steps,
      onCancel: kind === 'flow' ? (onCancel ?? 'undo') : undefined,
      inputSchema,
      paused: type.paused,
      handlerSince: isoOf(type.handlerSince),
      createdAt: iso(type.createdAt),
      updatedAt: iso(type.updatedAt),
      revision: editsOf(type),
    }),
    ...presentOperations(type),
  }
}

/** The answer to a pause or the end of one. */
export function presentPaused(type: TaskType): PausedType {
  return { type: type.type, paused: type.paused, revision: editsOf(type) }
}

function shownWebhook(webhook: WebhookSettings): WebhookSettings {
  return webhook.url === undefined ? webhook : { ...webhook, url: withoutUser(webhook.url) }
}
