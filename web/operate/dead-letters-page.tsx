import { useInfiniteQuery } from '@tanstack/react-query'
import { Send } from 'lucide-react'
import type { ApiDeadLetter, ReplayAnswer, ReplayBody } from '../../shared/api/diagnosis/dead-letters.ts'
import { baton } from '../api/baton.ts'
import { deadLettersQuery } from '../api/queries.ts'
import { ActionButton } from '../parts/controls.tsx'
import { AskedAction } from '../parts/dialog.tsx'
import { bytes, counted, visible } from '../parts/format.ts'
import { Card, Empty, Page } from '../parts/page.tsx'
import { Pages } from '../parts/table.tsx'
import { Explained, IdLink, When } from '../parts/text.tsx'

/** Messages that a queue or a service has given up: what each was about, what replaces it, and how to send it again. */
export function DeadLettersPage() {
  return (
    <Page title="Dead letters" lead="messages that were given up; they are kept for 14 days">
      <Pages of={useInfiniteQuery(deadLettersQuery)}>{letters => <Queues letters={letters} />}</Pages>
    </Page>
  )
}

function Queues({ letters }: { readonly letters: readonly ApiDeadLetter[] }) {
  if (letters.length === 0)
    return (
      <Empty title="No message was given up">
        A message comes here when its queue has delivered it too often without success.
      </Empty>
    )
  return (
    <div className="stack">
      {[...Map.groupBy(letters, ({ queue }) => queue)].map(([queue, ofQueue]) => (
        <Queue key={queue} queue={queue} letters={ofQueue} />
      ))}
    </div>
  )
}

function Queue({ queue, letters }: { readonly queue: string; readonly letters: readonly ApiDeadLetter[] }) {
  const replayable = letters
    .filter(letter => letter.replayable)
    .map(({ id }) => id)
    .slice(0, REPLAYED_MAX)
  return (
    <Card
      title={queue}
      tools={
        replayable.length > 1 && (
          <AskedAction
            icon={Send}
            text="Send all again"
            title="Send these messages again?"
            question={REPLAY}
            {...replayOf({ ids: replayable })}
          />
        )
      }
    >
      <ul className="letters">
        {letters.map(letter => (
          <Letter key={letter.id} letter={letter} />
        ))}
      </ul>
    </Card>
  )
}

function Letter({ letter }: { readonly letter: ApiDeadLetter }) {
  const { error, taskId, receives, arrivedAt, replayable, id } = letter
  return (
    <li>
      <div className="isolated">
        <Explained of={letter} />
        {error !== undefined && <p className="bad">{visible(error)}</p>}
        <p className="faint letter-facts">
          {taskId !== undefined && <IdLink id={taskId} />}
          <span>
            given up <When at={arrivedAt} />
          </span>
          <span>{counted(receives, 'delivery', 'deliveries')}</span>
          <span>{bytes(letter.bytes)}</span>
        </p>
      </div>
      {replayable && <ActionButton icon={Send} text="Send again" {...replayOf({ ids: [id] })} />}
    </li>
  )
}

/** Sends dead letters again: by their ids, or the newest ones of a queue. */
export function replayOf(which: ReplayBody) {
  return {
    run: () => baton.replayDeadLetters(which),
    done: replayResult,
    changes: [['dead-letters'], ['attention']],
  }
}

export const REPLAY =
  'The messages return to where they came from, at most 100 at once. If the cause is not repaired, they come back here.'

/** Says how many dead letters were sent, and the first reason for which one was not. */
function replayResult({ results }: ReplayAnswer): string {
  const refused = results.filter(({ status }) => status !== 200)
  const [first] = refused
  const sent = `${counted(results.length - refused.length, 'message')} sent again`
  return first ? `${sent}; ${refused.length} not: ${first.problem?.detail ?? first.status}` : sent
}

const REPLAYED_MAX = 100
