import type { QueueState } from '../aws/queues.ts'
import type { Context } from '../system/with-system.ts'
import type { Finding } from './finding.ts'
import { orFine, orUnchecked } from './unchecked.ts'

const CHECK = 'queues'

/**
 * Whether the queues of the stack exist, and whether messages that were given up wait to be collected. `check-types.ts` says whether tasks
 * wait for long: a long queue is no fault of its own.
 */
export async function checkQueues({ deployed }: Context): Promise<Finding[]> {
  if (!deployed) return []
  return orUnchecked(CHECK, async () => {
    const queues = await deployed.look.queues()
    const sum = (of: 'waiting' | 'held') => queues.reduce((total, queue) => total + queue[of], 0)
    const text = `${queues.length} queues hold about ${sum('waiting')} messages, and ${sum('held')} more are being worked on`
    return orFine(CHECK, queues.flatMap(findingsAbout), text)
  })
}

function findingsAbout({ name, exists, waiting, takesDeadLetters }: QueueState): Finding[] {
  if (!exists) {
    const next =
      'it was removed outside of the stack: deploy a change of it, or remove and add its type in the app'
    return [{ level: 'wrong', check: CHECK, text: `the queue ${name} does not exist any more`, next }]
  }
  if (!takesDeadLetters || waiting === 0) return []
  const text = `about ${waiting} messages that were given up wait in ${name}`
  const next = 'the sweeper collects them every minute: when the number stays, see the logs of its function'
  return [{ level: 'notice', check: CHECK, text, next }]
}
