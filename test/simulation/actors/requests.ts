import type { Json } from '../../../shared/core/values/values.ts'
import type { PublishRequest } from '../../../shared/runtime/publish/resolve-publication.ts'
import type { Callbacks, Job, Script, Step } from '../scenario.ts'

/** The request of a publish step. */
export function requestOfStep(step: Extract<Step, { readonly do: 'publish' }>): PublishRequest {
  const { input, tags } = contentOf(step)
  return { ...step.request, input, tags: { ...step.request.tags, ...tags }, ...callbacksOf(step) }
}

/** The request that publishes a job, without its key. */
export function requestOfJob(job: Job): PublishRequest {
  const { type, options, delayMs, stage, immutable, isList, key, ifExists } = job
  const { input, tags } = contentOf(job)
  return {
    type,
    tags,
    input: isList ? [input] : input,
    ...(options && { options }),
    ...(delayMs !== undefined && { delayMs }),
    ...(stage !== undefined && { stage }),
    ...(immutable && { immutable }),
    ...(key !== undefined && { key }),
    ...(ifExists && { ifExists }),
    ...callbacksOf(job),
  }
}

/**
 * Input and tags of a task. The nonce is a tag, too, so that invariants can read it: the head does not always
 * hold the input.
 */
function contentOf({ nonce, acts, pieces, padding, shop, secret }: Script): {
  readonly input: Json
  readonly tags: Readonly<Record<string, string>>
} {
  return {
    input: {
      nonce,
      acts: acts as unknown as Json,
      ...(shop !== undefined && { shop }),
      ...(secret !== undefined && cardOf(secret)),
      ...(pieces && { pieces: pieces as unknown as Json }),
      ...(padding > 0 && { padding: 'x'.repeat(padding) }),
    },
    tags: { nonce: String(nonce) },
  }
}

/** Every second secret is deep in the input. */
function cardOf(secret: string): { readonly [name: string]: Json } {
  const input = { card: { number: secret } }
  return Number(secret) % 2 === 0 ? input : { box: withinBoxes(input, BOXES) }
}

const BOXES = 12

function withinBoxes(content: Json, boxes: number): Json {
  return boxes === 0 ? content : { boxes: [withinBoxes(content, boxes - 1)] }
}

function callbacksOf({ onSuccess, onError }: Callbacks): Pick<PublishRequest, 'onSuccess' | 'onError'> {
  return {
    ...(onSuccess && { onSuccess: onSuccess.map(requestOfJob) }),
    ...(onError && { onError: onError.map(requestOfJob) }),
  }
}
