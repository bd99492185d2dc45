import { BatonError } from '../../../core/errors.ts'
import type { Json } from '../../../core/json.ts'
import type { TaskCodec } from '../../../ports/messages.ts'
import type { Item } from '../stored-form.ts'
import type { HeadReader } from './head-reader.ts'
import { headItem } from './items.ts'
import { problemOfHead } from './readable-head.ts'

/**
 * Messages carry tasks as their heads are stored: that form has a version, and code that meets an older one knows how to read
 * it. Of a flow it names the steps, which each process reads once.
 */
export function createTaskCodec(heads: Pick<HeadReader, 'task'>): TaskCodec {
  return {
    encode: task => headItem(task) as unknown as Json,
    decode: async form => heads.task(checked(form)),
  }
}

/** What every head has, in every version. */
function checked(form: unknown): Item {
  const item = (typeof form === 'object' && form !== null ? form : {}) as Item
  const problem = problemOfHead(item)
  if (problem === undefined) return item
  throw new BatonError('invalid', `what the message carries is no head of a task: ${problem}`)
}
