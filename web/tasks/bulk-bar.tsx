import { useState } from 'react'
import { baton } from '../api/baton.ts'
import { Button } from '../parts/button.tsx'
import { Confirm } from '../parts/confirm.tsx'
import { counted } from '../parts/format.ts'
import { type BulkAction, type BulkTask, startBulk } from './bulk.ts'

type Verb = Omit<BulkAction, 'tasks'> & { readonly explanation: string }

const RETRY: Verb = {
  verb: 'Retry',
  run: (id, expected) => baton.retry(id, expected),
  isHarmless: true,
  explanation:
    'Each task that has ended starts over with a fresh retry budget. An open task is left as it is.',
}

const VERBS: readonly Verb[] = [
  RETRY,
  {
    verb: 'Cancel',
    run: (id, expected) => baton.cancel(id, expected),
    isHarmless: false,
    explanation:
      'Open tasks stop, and running handlers are told to. The tasks keep their records and can be retried.',
  },
  {
    verb: 'Remove',
    run: (id, expected) => baton.remove(id, expected),
    isHarmless: false,
    explanation:
      'The tasks never run again, running handlers are told to stop, and the records are deleted. This cannot be undone.',
  },
]

/** What can be done with the selected tasks, or with all tasks of the filter. */
export function BulkBar({
  ids,
  everything,
  onDone,
}: {
  readonly ids: readonly string[]
  /** Lists all tasks of the filter; undefined when the selection holds all of them. */
  readonly everything: (() => AsyncIterable<BulkTask>) | undefined
  readonly onDone: () => void
}) {
  const [asked, setAsked] = useState<Verb>()
  const [isAll, setAll] = useState(false)
  const subject = isAll && everything ? 'all matching tasks' : counted(ids.length, 'task')
  const begin = (verb: Verb) => {
    onDone()
    void startBulk({ ...verb, tasks: isAll && everything ? everything() : ids.map(id => ({ id })) })
  }
  return (
    <section className="bulk-bar" aria-label="Actions on the selection">
      <span>
        {subject}
        {everything && (
          <button type="button" className="link-button" onClick={() => setAll(!isAll)}>
            {isAll ? 'only the selected' : 'all matching'}
          </button>
        )}
      </span>
      {VERBS.map(verb => (
        <Button
          key={verb.verb}
          look={verb.verb === 'Remove' ? 'danger' : 'plain'}
          onClick={() => setAsked(verb)}
        >
          {verb.verb}
        </Button>
      ))}
      <Button look="quiet" onClick={onDone}>
        Clear
      </Button>
      {asked && (
        <Confirm
          title={`${asked.verb} ${subject}?`}
          action={asked.verb}
          isDanger={asked.verb === 'Remove'}
          onConfirm={() => begin(asked)}
          onClose={() => setAsked(undefined)}
        >
          <p>{asked.explanation}</p>
          {!asked.isHarmless && <p className="soft">It begins after 5 seconds, in which it can be undone.</p>}
        </Confirm>
      )}
    </section>
  )
}
