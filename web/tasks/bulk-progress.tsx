import { useStore } from '../api/store.ts'
import { Button } from '../parts/button.tsx'
import { counted, number } from '../parts/format.ts'
import { Name, useNow } from '../parts/text.tsx'
import { type Bulk, bulk, dismissBulk, stopBulk } from './bulk.ts'

/** Shows how far an action on many tasks is, on every page. */
export function BulkProgress() {
  const present = useStore(bulk)
  return present ? <Progress bulk={present} /> : null
}

function Progress({ bulk: present }: { readonly bulk: Bulk }) {
  const now = useNow(250)
  const { state, total, done, problems } = present
  const isUnderWay = state === 'waiting' || state === 'running'
  return (
    <section className="bulk-progress" aria-label="Progress">
      <p role="status">{textOf(present, now)}</p>
      {total !== undefined && state !== 'waiting' && (
        <progress
          value={done + problems.length}
          max={Math.max(1, total)}
          aria-label={`${done} of ${total}`}
        />
      )}
      {problems.length > 0 && <Problems problems={problems} />}
      {isUnderWay ? (
        <Button onClick={stopBulk}>{state === 'waiting' ? 'Undo' : 'Stop'}</Button>
      ) : (
        <Button onClick={dismissBulk}>Close</Button>
      )}
    </section>
  )
}

function textOf({ verb, total, done, state, startsAt, problems }: Bulk, now: number): string {
  const tasks = total === undefined ? 'all matching tasks' : counted(total, 'task')
  if (state === 'waiting') return `${verb} ${tasks} in ${Math.max(0, Math.ceil((startsAt - now) / 1_000))} s`
  const refused = problems.length > 0 ? `, ${number(problems.length)} refused` : ''
  const of = total === undefined ? '' : ` of ${number(total)}`
  const word =
    state === 'running' ? `${verb}: ` : state === 'stopped' ? `${verb} was stopped after ` : `${verb}: `
  return `${word}${number(done)}${of} done${refused}`
}

function Problems({ problems }: Pick<Bulk, 'problems'>) {
  return (
    <details className="bulk-problems">
      <summary>{counted(problems.length, 'task')} refused</summary>
      <ul>
        {problems.map(({ id, text }) => (
          <li key={id}>
            <Name>{id}</Name>
            <bdi className="soft">{text}</bdi>
          </li>
        ))}
      </ul>
    </details>
  )
}
