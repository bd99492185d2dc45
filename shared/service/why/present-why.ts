import type { WhyAnswer } from '../../api/diagnosis/why.ts'
import { defined } from '../../core/values/defined.ts'
import type { Why } from '../../runtime/why/why.ts'
import { iso, isoOf } from '../present/iso.ts'
import { explain } from './explain.ts'
import type { Explained } from './explained.ts'

/** Why a task waits, runs or has ended, as the API shows it. */
export function presentWhy(id: string, { status, reason, facts }: Why): WhyAnswer {
  const why = explain(reason, facts)
  const { sentence, next, since, until, holder, lastWorkerSeenAt, log, deadLetterId } = why
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

function presentLimit({ limit }: Explained): Pick<WhyAnswer, 'limit'> {
  if (!limit) return {}
  const { holders, ...rest } = limit
  const shown = holders?.map(({ taskId, since }) => ({ taskId, since: iso(since) }))
  return { limit: { ...rest, ...(shown && { holders: shown }) } }
}

function presentQueue({ queue }: Explained): Pick<WhyAnswer, 'queue'> {
  if (!queue) return {}
  const { oldestDueAt, ...rest } = queue
  return { queue: { ...rest, ...defined({ oldestDueAt: isoOf(oldestDueAt) }) } }
}
