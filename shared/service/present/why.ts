import type { WhyAnswer } from '../../api/diagnosis/why.ts'
import { defined } from '../../core/defined.ts'
import type { WhyDescription } from '../../runtime/why/why.ts'
import { iso, isoOf } from './iso.ts'

/** Why a task waits, runs or has ended, as the API shows it. */
export function presentWhy(why: WhyDescription): WhyAnswer {
  const { id, status, reason, sentence, next, since, until, holder, lastWorkerSeenAt, log, deadLetterId } =
    why
  return {
    id,
    status,
    reason,
    sentence,
    next,
    ...defined({ since: isoOf(since), until: isoOf(until), holder }),
    ...presentLimit(why),
    ...presentQueue(why),
    ...defined({ lastWorkerSeenAt: isoOf(lastWorkerSeenAt), log, deadLetterId }),
  }
}

function presentLimit({ limit }: WhyDescription): Pick<WhyAnswer, 'limit'> {
  if (!limit) return {}
  const { holders, ...rest } = limit
  const shown = holders?.map(({ taskId, since }) => ({ taskId, since: iso(since) }))
  return { limit: { ...rest, ...(shown && { holders: shown }) } }
}

function presentQueue({ queue }: WhyDescription): Pick<WhyAnswer, 'queue'> {
  if (!queue) return {}
  const { oldestDueAt, ...rest } = queue
  return { queue: { ...rest, ...defined({ oldestDueAt: isoOf(oldestDueAt) }) } }
}
