import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { CircleCheck, RotateCcw, Send } from 'lucide-react'
import type { AttentionAnswer } from '../../shared/api/diagnosis/attention.ts'
import { baton } from '../api/baton.ts'
import { attentionQuery, failuresQuery, schedulesQuery, workersQuery } from '../api/queries.ts'
import { replayOf, replayQuestion } from '../operate/dead-letters-page.tsx'
import { Acting, ActionButton } from '../parts/controls.tsx'
import { AskedAction } from '../parts/dialog.tsx'
import { visible } from '../parts/format.ts'
import { Card, Failure, Loading, Page } from '../parts/page.tsx'
import { Dotted, Name, useNow, When } from '../parts/text.tsx'
import { useWork } from '../types/types-page.tsx'
import { type Attention, attentionOf } from './attention.ts'

type Action = AttentionAnswer['actions'][number]

/** What needs attention now, and what callers last did about such things. */
export function AttentionPage() {
  const { items, actions = [], failed } = useAttention()
  return (
    <Page title="Needs attention" lead="the most urgent first; what is settled leaves the list by itself">
      {failed && <Failure error={failed.error} onRetry={failed.refetch} />}
      {!failed && !items && <Loading rows={8} />}
      {items && (
        <div className="stack">
          <Card>
            <AttentionList items={items} actions={actions} />
          </Card>
          {actions.length > 0 && (
            <Card title="What was done">
              <ul className="operations">
                {actions.map(action => (
                  <li key={`${action.at} ${action.what} ${action.subject}`}>
                    <Done action={action} />
                  </li>
                ))}
              </ul>
            </Card>
          )}
        </div>
      )}
    </Page>
  )
}

/** Undefined items are not known yet. `work` is what pages also show apart from this. */
export function useAttention() {
  const now = useNow(10_000)
  const work = useWork()
  const known = {
    ...{ types: work.types, counts: work.counts, activity: work.activity },
    ...{ schedules: useQuery(schedulesQuery), workers: useQuery(workersQuery) },
    ...{ failures: useQuery(failuresQuery), attention: useQuery(attentionQuery) },
  }
  const failed = Object.values(known).find(({ error, data }) => error && !data)
  const [types, counts, activity] = [known.types.data, known.counts.data, known.activity.data?.items]
  const [schedules, workers] = [known.schedules.data, known.workers.data]
  const [failures, attention] = [known.failures.data?.items, known.attention.data]
  const isWhole = types && counts && activity && schedules && workers && failures && attention
  const items =
    isWhole && attentionOf({ types, counts, activity, schedules, workers, failures, attention }, now)
  return { work, failed, items, actions: attention?.actions }
}

type ListProps = { readonly items: readonly Attention[]; readonly actions: readonly Action[] }

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
      {items.map(item => {
        const last = actions.find(({ subject }) => subject !== undefined && subject === item.subject)
        return (
          <li key={item.id}>
            <Dotted tone={item.tone} />
            <div>
              <p className="isolated">{item.text}</p>
              {last && <Done action={last} />}
            </div>
            <AttentionAction action={item.action} />
          </li>
        )
      })}
    </ul>
  )
}

/** The record of an action: its name, its subject, its caller and its time. */
function Done({ action: { what, subject, by, at } }: { readonly action: Action }) {
  return (
    <span className="last-change faint isolated">
      <span>{WORDS[what] ?? what.replaceAll('-', ' ')}</span>{' '}
      {subject !== undefined && <Name>{subject}</Name>}{' '}
      <span>
        by <Name mono={false}>{by}</Name> <When at={at} />
      </span>
    </span>
  )
}

const WORDS: Readonly<Record<string, string>> = {
  'retry-do': 'step tried again',
  'retry-undo': 'undone again',
  'skip-undo': 'failed undo skipped',
  continue: 'continued after a repair by hand',
  'retry-callbacks': 'callbacks published again',
  retry: 'retried',
  restart: 'started over',
  replayDeadLetters: 'messages sent again',
  pauseType: 'paused',
  resumeType: 'resumed',
  pauseSchedule: 'schedule paused',
  resumeSchedule: 'schedule resumed',
  triggerSchedule: 'ticked by hand',
  purge: 'purged',
}

const TO_SHOW = {
  '/schedules': 'Show the schedules',
  '/workers': 'Show the workers',
  '/failures': 'Show the failures',
}

function AttentionAction({ action }: Pick<Attention, 'action'>) {
  switch (action.kind) {
    case 'resume':
      return (
        <Acting>
          <ActionButton
            text="Resume"
            run={() => baton.resume(action.type)}
            done={`${action.type} runs again`}
            changes={[['types'], ['type', action.type], ['counts'], ['attention']]}
          />
        </Acting>
      )
    case 'halted':
      return <Halted {...action} />
    case 'letters':
      return <Letters {...action} />
    case 'page':
      return (
        <Link className="button plain" to={action.to}>
          {TO_SHOW[action.to]}
        </Link>
      )
    case 'tasks':
      return (
        <Link className="button plain" to="/tasks" search={action.search}>
          Show the tasks
        </Link>
      )
  }
}

function Halted({ taskId, mayUndo }: Extract<Attention['action'], { kind: 'halted' }>) {
  return (
    <span className="cell-actions">
      {mayUndo && (
        <AskedAction
          icon={RotateCcw}
          text="Undo again"
          title="Try the failed undo again?"
          question={`The undo of ${visible(taskId)} that failed runs again with its whole budget of retries, and then the undos before it. Its handler may have had an effect before it failed.`}
          run={() => baton.retry(taskId, { action: 'retry-undo' })}
          done="The failed undo is tried again"
          changes={[['attention'], ['task', taskId], ['tasks'], ['counts']]}
        />
      )}
      <Link className="button plain" to="/tasks/$id" params={{ id: taskId }} search={{}}>
        Show the task
      </Link>
    </span>
  )
}

function Letters({ queue, replayable }: Extract<Attention['action'], { kind: 'letters' }>) {
  return (
    <span className="cell-actions">
      {replayable > 0 && (
        <AskedAction
          icon={Send}
          text="Send again"
          title="Send these messages again?"
          question={replayQuestion(replayable)}
          {...replayOf({ queue })}
        />
      )}
      <Link className="button plain" to="/dead-letters">
        Show them
      </Link>
    </span>
  )
}
