import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import type { WhyAnswer } from '../../shared/api/diagnosis/why.ts'
import type { ApiTask } from '../../shared/api/tasks.ts'
import { isStatus } from '../api/baton.ts'
import { taskQuery, whyMemberQuery, whyQuery } from '../api/queries.ts'
import { TaskCostCard } from '../cost/cost-card.tsx'
import { duration, moment, reasonText, visible } from '../parts/format.ts'
import { JsonView } from '../parts/json.tsx'
import { Card, Empty, Facts, Loading, Operations, Page, Unanswered } from '../parts/page.tsx'
import { Holders, IdHeading, IdLink, Name, StatusBadge, When } from '../parts/text.tsx'
import { ErrorView, History, Runs, Steps } from './runs.tsx'
import { TaskActions } from './task-actions.tsx'
import { TimelineView } from './timeline-view.tsx'

const route = getRouteApi('/tasks/$id')

/** One task with everything that is known of it. */
export function TaskPage() {
  const { id } = route.useParams()
  const task = useQuery(taskQuery(id))
  if (task.data) return <TaskView task={task.data} />
  return (
    <Page title={id} heading={<Name>{id}</Name>}>
      {isStatus(task.error, 400) ? (
        <Empty title="This is not the id of a task">An id has the form type:key.</Empty>
      ) : (
        <Unanswered of={task} missing={<Missing id={id} />} />
      )}
    </Page>
  )
}

/** A task that does not exist: it is gone, or it is a member of a canvas that is not published yet. */
function Missing({ id }: { readonly id: string }) {
  const { canvasId } = route.useSearch()
  const { data: why, isLoading } = useQuery({
    ...whyMemberQuery(id, canvasId ?? ''),
    enabled: canvasId !== undefined,
  })
  if (isLoading) return <Loading rows={2} />
  if (why && canvasId !== undefined) return <MemberWhy why={why} canvasId={canvasId} />
  return <Empty title="There is no such task">It was removed, or its record has expired.</Empty>
}

function TaskView({ task }: { readonly task: ApiTask }) {
  const { id, type, key, steps, history, runs } = task
  return (
    <Page
      title={id}
      heading={<IdHeading id={id} name={key} />}
      lead={
        <Link to="/types/$type" params={{ type }}>
          {type}
        </Link>
      }
      actions={<TaskActions task={task} />}
    >
      <Why task={task} />
      {task.error && <ErrorView error={task.error} />}
      <div className="stack">
        <CallbackProblems task={task} />
        <Card title="Timeline">
          <TimelineView task={task} />
        </Card>
        {steps && (
          <Card title="Steps">
            <Steps task={task} />
          </Card>
        )}
      </div>
      <div className="columns">
        <div className="column">
          <Payload title="Input" value={task.input} />
          <Payload title="Result" value={task.result} />
          <Payload title="Parameters" value={task.params} />
          <Payload title="Handed on" value={task.previous} />
          {runs.length > 0 && (
            <Card title="Runs">
              <Runs task={task} />
            </Card>
          )}
          {task.formerRuns && (
            <Card title="Runs before the restart">
              <Runs task={{ ...task, runs: task.formerRuns }} />
            </Card>
          )}
          {history.length > 0 && (
            <Card title="History">
              <History task={task} />
            </Card>
          )}
        </div>
        <Details task={task} />
      </div>
    </Page>
  )
}

function CallbackProblems({ task: { callbackProblems } }: { readonly task: ApiTask }) {
  if (!callbackProblems) return null
  return (
    <Card title="Callbacks that cannot be published">
      <Facts rows={callbackProblems.map(({ path, message }) => [path, message])} />
    </Card>
  )
}

function Payload({ title, value }: { readonly title: string; readonly value: unknown }) {
  if (value === undefined) return null
  return (
    <Card title={title}>
      <JsonView value={value} label={title} />
    </Card>
  )
}

function Details({ task }: { readonly task: ApiTask }) {
  const { options } = task
  return (
    <aside className="column" aria-label="Details">
      <Card title="Times">
        <Facts
          rows={[
            ['Created', <When key="created" at={task.createdAt} />],
            ['Due', moment(task.dueAt)],
            ['Started', task.startedAt && <When at={task.startedAt} />],
            ['Ended', task.finishedAt && <When at={task.finishedAt} />],
            ['Expires', task.expiresAt && <When at={task.expiresAt} />],
          ]}
        />
      </Card>
      <TaskCostCard task={task} />
      <Card title="Relations">
        <Facts rows={relationsOf(task)} />
      </Card>
      <Card title="Options">
        <Facts
          rows={[
            ['Priority', task.priority],
            ['Attempts', `${task.attempts.used} used, ${task.attempts.left} left`],
            ['Retry', `${options.retry.backoff}, from ${duration(options.retry.delayMs)}`],
            ['Concurrency', options.concurrency],
            ['Lease', duration(options.leaseMs)],
            ['Timeout', options.timeoutMs === undefined ? undefined : duration(options.timeoutMs)],
            ['Deadline', options.deadlineMs === undefined ? undefined : duration(options.deadlineMs)],
            ['Retention', duration(options.retentionMs)],
          ]}
        />
      </Card>
      <Operations operations={task.operations} />
    </aside>
  )
}

function relationsOf({ canvasId, parentId, userId, tags = {}, traceId, stage, fairnessKey }: ApiTask) {
  return [
    ['User', userId !== undefined && <Name mono={false}>{userId}</Name>],
    ['Tenant', fairnessKey !== undefined && <Name mono={false}>{fairnessKey}</Name>],
    ['Stage', stage !== undefined && <Name mono={false}>{stage}</Name>],
    ['Canvas', canvasId !== undefined && <IdLink id={canvasId} to="/canvases/$id" />],
    ['Published by', parentId !== undefined && <IdLink id={parentId} />],
    ['Trace', traceId !== undefined && <Name>{traceId}</Name>],
    ...Object.entries(tags).map(([name, value]) => [name, <Name key={name}>{value}</Name>] as const),
  ] as const
}

/** The status of a task, why it is so in one sentence, and what can be done. */
function Why({ task }: { readonly task: ApiTask }) {
  const { data: why } = useQuery(whyQuery(task))
  const { status, statusReason, needsAttention } = task
  return (
    <div className="verdict">
      <StatusBadge state={status} />
      {needsAttention && <span className="tag bad">needs attention</span>}
      <div className="verdict-text isolated">
        {why ? (
          <p>{visible(why.sentence)}</p>
        ) : (
          <p className="soft">{statusReason && reasonText(statusReason)}</p>
        )}
        {why && <p className="soft">{visible(why.next)}</p>}
        {why?.limit?.holders && <Holders holders={why.limit.holders} look="tags" />}
      </div>
    </div>
  )
}

/** Why a member of a canvas is not published. */
function MemberWhy({ why, canvasId }: { readonly why: WhyAnswer; readonly canvasId: string }) {
  return (
    <div className="verdict">
      <StatusBadge state={why.status} />
      <div className="verdict-text isolated">
        <p>{visible(why.sentence)}</p>
        <p className="soft">{visible(why.next)}</p>
        <p>
          <Link to="/canvases/$id" params={{ id: canvasId }}>
            Show the canvas
          </Link>
        </p>
      </div>
    </div>
  )
}
