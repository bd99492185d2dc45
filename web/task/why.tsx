import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { WhyAnswer } from '../../shared/api/diagnosis/why.ts'
import type { ApiTask } from '../../shared/api/tasks.ts'
import { whyQuery } from '../api/queries.ts'
import { visible } from '../parts/format.ts'
import { reasonText, StatusBadge } from '../parts/status.tsx'
import { Name, When } from '../parts/text.tsx'

/** The status of a task, why it is so in one sentence, and what can be done. */
export function Why({ task }: { readonly task: ApiTask }) {
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
        {why?.limit?.holders && <Holders holders={why.limit.holders} />}
      </div>
    </div>
  )
}

/** Why a member of a canvas is not published. */
export function MemberWhy({ why, canvasId }: { readonly why: WhyAnswer; readonly canvasId: string }) {
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

type Holder = NonNullable<NonNullable<WhyAnswer['limit']>['holders']>[number]

function Holders({ holders }: { readonly holders: readonly Holder[] }) {
  return (
    <ul className="tags">
      {holders.map(({ taskId, since }) => (
        <li key={taskId}>
          <Link to="/tasks/$id" params={{ id: taskId }} search={{}}>
            <Name>{taskId}</Name>
          </Link>{' '}
          <span className="faint">
            <When at={since} />
          </span>
        </li>
      ))}
    </ul>
  )
}
