import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import type { WhyAnswer } from '../../shared/api/diagnosis/why.ts'
import type { ApiTask } from '../../shared/api/tasks.ts'
import { isStatus } from '../api/baton.ts'
import { taskQuery, whyMemberQuery, whyQuery } from '../api/queries.ts'
import { TaskCostCard } from '../cost/cost-card.tsx'
import { duration, reasonText } from '../parts/format.ts'
import { JsonCard } from '../parts/json.tsx'
import { Card, Empty, Facts, Loading, Page, Unanswered } from '../parts/page.tsx'
import { Explained, Holders, IdHeading, IdLink, Name, StatusBadge, TypeLink, When } from '../parts/text.tsx'
import { Steps } from './runs.tsx'
import { StoryCard } from './story-view.tsx'
import { TaskActions } from './task-actions.tsx'

const route = getRouteApi('/tasks/$id')

export function TaskPage() {
  const { id } = route.useParams()
  const task = useQuery(taskQuery(id))
  if (task.data) return <TaskView task={task.data} />
  return (
    <Page title={id}>
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
  const { id, type, key, steps } = task
  return (
    <Page
      title={id}
      heading={<IdHeading id={id} name={key} />}
      lead={<TypeLink type={type} />}
      actions={<TaskActions task={task} />}
    >
      <Why task={task} />
      <div className="stack">
        {steps && (
          <Card title="Steps">
            <Steps task={task} />
          </Card>
        )}
        <StoryCard task={task} />
      </div>
      <div className="columns">
        <div className="column">
          <JsonCard title="Input" value={task.input} />
          <JsonCard title="Result" value={task.result} />
          <JsonCard title="Parameters" value={task.params} />
          <JsonCard title="Result of the task before" value={task.previous} />
        </div>
        <Details task={task} />
      </div>
    </Page>
  )
}

function Details({ task }: { readonly task: ApiTask }) {
  const { options } = task
  return (
    <aside className="column" aria-label="Details">
      <Card title="Times">
        <Facts
          rows={[
            ['Due', <When key="due" at={task.dueAt} />],
            ['Changed', <When key="changed" at={task.updatedAt} />],
            ['Kept until', task.expiresAt && <When at={task.expiresAt} />],
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
    </aside>
  )
}

function relationsOf({ canvasId, userId, tags = {}, traceId, stage, fairnessKey }: ApiTask) {
  return [
    ['User', userId !== undefined && <Name mono={false}>{userId}</Name>],
    ['Tenant', fairnessKey !== undefined && <Name mono={false}>{fairnessKey}</Name>],
    ['Stage', stage !== undefined && <Name mono={false}>{stage}</Name>],
    ['Canvas', canvasId !== undefined && <IdLink id={canvasId} to="/canvases/$id" />],
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
        {why ? <Explained of={why} /> : <p className="soft">{statusReason && reasonText(statusReason)}</p>}
        {why?.limit?.holders && <Holders holders={why.limit.holders} look="tags" />}
      </div>
    </div>
  )
}

function MemberWhy({ why, canvasId }: { readonly why: WhyAnswer; readonly canvasId: string }) {
  return (
    <div className="verdict">
      <StatusBadge state={why.status} />
      <div className="verdict-text isolated">
        <Explained of={why} />
        <p>
          <Link to="/canvases/$id" params={{ id: canvasId }}>
            Show the canvas
          </Link>
        </p>
      </div>
    </div>
  )
}
