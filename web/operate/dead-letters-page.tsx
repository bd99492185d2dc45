import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Send } from 'lucide-react'
import { useState } from 'react'
import type { ApiDeadLetter, ReplayAnswer, ReplayBody } from '../../shared/api/diagnosis/dead-letters.ts'
import { baton } from '../api/baton.ts'
import { deadLettersQuery } from '../api/queries.ts'
import { useAction } from '../parts/action.tsx'
import { Acting, Button } from '../parts/button.tsx'
import { Confirm } from '../parts/dialog.tsx'
import { bytes, counted, visible } from '../parts/format.ts'
import { Empty, Failure, Loading } from '../parts/notes.tsx'
import { Card, Page } from '../parts/page.tsx'
import { Name, When } from '../parts/text.tsx'

/** Messages that a queue or a service has given up: what each was about, what replaces it, and how to send it again. */
export function DeadLettersPage() {
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } =
    useInfiniteQuery(deadLettersQuery)
  const letters = data?.pages.flatMap(({ items }) => items) ?? []
  return (
    <Page title="Dead letters" lead="messages that were given up; they are kept for 14 days">
      {data && letters.length === 0 && (
        <Empty title="No message was given up">
          A message comes here when its queue has delivered it too often without success.
        </Empty>
      )}
      <div className="stack">
        {[...Map.groupBy(letters, ({ queue }) => queue)].map(([queue, ofQueue]) => (
          <Queue key={queue} queue={queue} letters={ofQueue} />
        ))}
      </div>
      {hasNextPage && (
        <div className="more">
          <Button onClick={() => void fetchNextPage()} disabled={isFetchingNextPage}>
            Show more
          </Button>
        </div>
      )}
      {!data && error && <Failure error={error} onRetry={refetch} />}
      {!data && !error && <Loading />}
    </Page>
  )
}

type Letters = { readonly queue: string; readonly letters: readonly ApiDeadLetter[] }

function Queue({ queue, letters }: Letters) {
  const replayable = letters.filter(letter => letter.replayable).map(({ id }) => id)
  return (
    <Card
      title={queue}
      tools={
        replayable.length > 1 && (
          <Acting>
            <ReplayShown ids={replayable} />
          </Acting>
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
  const { sentence, next, error, taskId, receives, arrivedAt, replayable, id } = letter
  return (
    <li>
      <div className="isolated">
        <p>{visible(sentence)}</p>
        <p className="soft">{visible(next)}</p>
        {error !== undefined && <p className="bad">{visible(error)}</p>}
        <p className="faint letter-facts">
          {taskId !== undefined && (
            <Link to="/tasks/$id" params={{ id: taskId }} search={{}} className="cut">
              <Name>{taskId}</Name>
            </Link>
          )}
          <span>
            given up <When at={arrivedAt} />
          </span>
          <span>{counted(receives, 'delivery', 'deliveries')}</span>
          <span>{bytes(letter.bytes)}</span>
        </p>
      </div>
      {replayable && (
        <Acting>
          <ReplayOne id={id} />
        </Acting>
      )}
    </li>
  )
}

function useReplay() {
  return useAction({
    run: (which: ReplayBody) => baton.replayDeadLetters(which),
    done: told,
    changes: [['dead-letters']],
  })
}

/** What became of the dead letters: those that were not sent come with the first reason. */
function told({ results }: ReplayAnswer): string {
  const refused = results.filter(({ status }) => status !== 200)
  const sent = `${counted(results.length - refused.length, 'message')} sent again`
  const [first] = refused
  return first ? `${sent}; ${refused.length} not: ${first.problem?.detail ?? first.status}` : sent
}

function ReplayOne({ id }: { readonly id: string }) {
  const replay = useReplay()
  return (
    <Button onClick={() => replay.mutate({ ids: [id] })} disabled={replay.isPending}>
      <Send size={14} aria-hidden /> Send again
    </Button>
  )
}

const REPLAYED_MAX = 100

function ReplayShown({ ids }: { readonly ids: readonly string[] }) {
  const [isAsked, setAsked] = useState(false)
  const replay = useReplay()
  const sent = ids.slice(0, REPLAYED_MAX)
  return (
    <>
      <Button onClick={() => setAsked(true)} disabled={replay.isPending}>
        <Send size={14} aria-hidden /> Send all again
      </Button>
      {isAsked && (
        <Confirm
          title="Send these messages again?"
          action="Send again"
          onConfirm={() => replay.mutate({ ids: [...sent] })}
          onClose={() => setAsked(false)}
        >
          <p>
            {counted(sent.length, 'message')} return to where they came from. If the cause is not repaired,
            they come back here.
          </p>
        </Confirm>
      )}
    </>
  )
}
