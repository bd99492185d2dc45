import type { DerivedBody } from '../../api/publish.ts'
import { OPTION_NAMES, type PartialOptions } from '../../core/options/options.ts'
import type { PatchedOptions } from '../../core/options/overlaid-options.ts'
import { defined } from '../../core/values/json.ts'
import type { PublishRequest } from './resolve-publication.ts'

/**
 * Turns a publish body, as the API and `ctx.publish` take it, into a request. Callbacks are requests of their own.
 */
export function requestOfBody(body: DerivedBody): PublishRequest {
  const { type, key, input, userId, tags, delayMs, priority, stage, immutable, traceparent, fairnessKey } =
    body
  const options = optionsIn<PartialOptions>(body)
  return {
    type,
    ...(Object.keys(options).length > 0 && { options }),
    ...defined({ key, input, userId, tags, delayMs, priority, stage, traceparent, fairnessKey }),
    ...(immutable && { immutable }),
    ...defined({
      dueAt: timeOf(body.dueAt),
      onSuccess: body.onSuccess?.map(requestOfBody),
      onError: body.onError?.map(requestOfBody),
    }),
  }
}

/** The options among the fields of a body. */
export function optionsIn<Body extends PatchedOptions = PartialOptions>(body: Body): Body {
  const found = OPTION_NAMES.flatMap(name => (body[name] === undefined ? [] : [[name, body[name]]]))
  return Object.fromEntries(found)
}

export function timeOf(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Date.parse(text)
}
