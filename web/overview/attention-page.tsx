import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { CircleCheck, Play, RotateCcw, Send } from 'lucide-react'
import { baton } from '../api/baton.ts'
import { attentionQuery, failuresQuery, schedulesQuery, workersQuery } from '../api/queries.ts'
import { REPLAY, replayOf } from '../operate/dead-letters-page.tsx'
import { AskedAction } from '../parts/dialog.tsx'
import { visible } from '../parts/format.ts'
import { Answer, Card, combined, LastChange, Operations, Page } from '../parts/page.tsx'
import { Dotted, useNow } from '../parts/text.tsx'
import { useWork } from '../types/types-page.tsx'
import { type Attention, attentionOf, type Known } from './attention.ts'

/** What needs attention now, and what callers last did about such things. */
export function AttentionPage() {
  return (
    <Page title="Needs attention" lead="the most urgent first; what is settled leaves the list by itself">
      <Answer of={useAttention()} rows={8}>
        {({ items, actions }) => (
          <div className="stack">
            <Card>
              <AttentionList items={items} actions={actions} />
            </Card>
            <Operations operations={actions.toReversed()} />
          </div>
        )}
      </Answer>
    </Page>
  )
}

export function useAttention() {
  const now = useNow(10_000)
  const { cost: _, ...work } = useWork()
  const { data: known, ...question } = combined({
    ...work,
    ...{ schedules: useQuery(schedulesQuery), workers: useQuery(workersQuery) },
    ...{ failures: useQuery(failuresQuery), attention: useQuery(attentionQuery) },
  })
  const { actions } = known?.attention ?? { actions: [] }
  return { ...question, data: known && { items: attentionOf(known, now), actions } }
}

type ListProps = Pick<Known['attention'], 'actions'> & { readonly items: readonly Attention[] }

/** What needs attention. Each row has the last action of a caller on its subject. */
export function AttentionList({ items, actions }: ListProps) {
  if (items.length === 0)
    return (
      <p className="all-well">
        <CircleCheck size={18} aria-hidden />
        Nothing needs attention.
      </p>
    )
  return (
    <ul className="attention-list">
      {items.map(({ id, tone, text, subject, act, link: { text: name, ...link } }) => (
        <li key={id}>
          <Dotted tone={tone} />
          <div>
            <p className="isolated">{text}</p>
            <LastChange operations={actions.filter(action => action.subject === subject).slice(0, 1)} />
          </div>
          <span className="cell-actions">
            {act && <AskedAction {...ACTS[act](subject)} />}
            <Link className="button plain" {...link}>
              {name}
            </Link>
          </span>
        </li>
      ))}
    </ul>
  )
}

type AskedProps = Parameters<typeof AskedAction<unknown>>[0]

const ACTS: Readonly<Record<NonNullable<Attention['act']>, (subject: string) => AskedProps>> = {
  undo: id => ({
    ...{ icon: RotateCcw, text: 'Undo again', title: 'Try the failed undo again?' },
    question: `The undo of ${visible(id)} that failed runs again with its whole budget of retries, and then the undos before it. It may have had an effect before it failed.`,
    run: () => baton.retry(id, { action: 'retry-undo' }),
    done: 'The failed undo is tried again',
    changes: [['attention'], ['task', id], ['tasks'], ['counts']],
  }),
  replay: queue => ({
    ...{ icon: Send, text: 'Send again', title: 'Send these messages again?', question: REPLAY },
    ...(replayOf({ queue }) as Pick<AskedProps, 'run' | 'done' | 'changes'>),
  }),
  resume: type => ({
    ...{ icon: Play, text: 'Resume', title: `Resume ${type}?` },
    question: 'The tasks that wait are started, as fast as the limits of the type allow.',
    run: () => baton.resume(type),
    done: `${type} runs again`,
    changes: [['types'], ['type', type], ['counts'], ['attention']],
  }),
}
