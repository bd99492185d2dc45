import { BatonError } from '../../../core/errors.ts'
import { type Head, isTask } from '../../../core/task/head.ts'
import type { Task } from '../../../core/task/task.ts'
import type { Json } from '../../../core/values/json.ts'
import type { TaskCodec } from '../../../ports/messages.ts'
import type { Item } from '../stored-form.ts'
import type { HeadReader } from './head-reader.ts'
import { headItem } from './items.ts'
import { problemOfHead } from './readable-head.ts'

/**
 * Messages carry tasks in the stored form of their heads. That form has a version, and newer code knows how to read older ones.
 * The form of a flow only names its steps, and each process reads them once.
 */
export function createTaskCodec(heads: Pick<HeadReader, 'task'>): TaskCodec {
  return {
    encode: task => headItem(task) as unknown as Json,
    decode: async form => taskIn(await heads.task(checked(form))),
  }
}

/** @throws BatonError `invalid` for a form that lacks what heads of every version have. */
function checked(form: unknown): Item {
  const item = (typeof form === 'object' && form !== null ? form : {}) as Item
  const problem = problemOfHead(item)
  if (problem === undefined) return item
  throw new BatonError('invalid', `the message does not carry the head of a task: ${problem}`)
}

function taskIn(head: Head): Task {
  if (isTask(head)) return head
  throw new BatonError(
    'invalid',
    `the message carries the ${head.kind} ${head.id}, and no worker can claim one`,
  )
}
