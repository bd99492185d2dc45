import { useQuery } from '@tanstack/react-query'
import { Trash2 } from 'lucide-react'
import { useState } from 'react'
import type { ApiType, PurgeBody } from '../../shared/api/types.ts'
import { baton } from '../api/baton.ts'
import { countsQuery } from '../api/queries.ts'
import { InputField, Opener, useAction } from '../parts/controls.tsx'
import { FormDialog } from '../parts/dialog.tsx'
import { countText, isEnded, STATUSES, type Status, sumText, toggled } from '../parts/format.ts'
import { When } from '../parts/text.tsx'

/** The purge of a type's tasks: the dialog that begins it, and the purges under way. */

type TypeProps = { readonly type: string }

export function PurgeButton({ type }: TypeProps) {
  return (
    <Opener
      look="danger"
      icon={Trash2}
      text="Purge"
      dialog={close => <PurgeDialog type={type} onClose={close} />}
    />
  )
}

function PurgeDialog({ type, onClose }: TypeProps & { readonly onClose: () => void }) {
  const [chosen, setChosen] = useState<readonly Status[]>([])
  const [name, setName] = useState('')
  const purge = useAction({
    run: (body: PurgeBody) => baton.purge(type, body),
    done: 'The purge has begun; this page shows it until it is over',
    changes: [['type', type], ['types'], ['tasks'], ['counts']],
    after: onClose,
  })
  const bodyOf = (form: FormData): PurgeBody => {
    const before = String(form.get('before') ?? '')
    return { status: chosen, ...(before !== '' && { before: new Date(before).toISOString() }) }
  }
  return (
    <FormDialog
      title={`Purge tasks of ${type}`}
      look="middle"
      action="Purge"
      actionLook="danger"
      refusal="Keep them"
      isReady={chosen.length > 0 && name === type && !purge.isPending}
      onSubmit={form => purge.mutate(bodyOf(form))}
      onClose={onClose}
    >
      <StatusChoice type={type} chosen={chosen} onChoose={setChosen} />
      <InputField
        label="Only those that ended, or for open ones were published, before"
        name="before"
        type="datetime-local"
      />
      <p className="soft">
        Removed tasks never run again, and nothing brings them back. Tasks that an open canvas needs stay
        until the canvas has ended.
      </p>
      <InputField
        label="Type the name of the type to confirm"
        autoComplete="off"
        placeholder={type}
        value={name}
        onChange={event => setName(event.target.value)}
      />
    </FormDialog>
  )
}

type ChoiceProps = TypeProps & {
  readonly chosen: readonly Status[]
  readonly onChoose: (chosen: readonly Status[]) => void
}

function StatusChoice({ type, chosen, onChoose }: ChoiceProps) {
  const { data: counts } = useQuery(countsQuery(type))
  return (
    <fieldset className="form-group">
      <legend>Tasks that are</legend>
      {STATUSES.map(status => (
        <label key={status} className="check-field">
          <input
            type="checkbox"
            checked={chosen.includes(status)}
            onChange={() => onChoose(toggled(chosen, status))}
          />
          {status}
          <span className="faint">{counts && countText(counts[status])}</span>
        </label>
      ))}
      <p className={chosen.every(isEnded) ? 'soft' : 'warn'}>
        {counts && chosen.length > 0 && `At most ${sumText(chosen.map(status => counts[status]))} tasks go.`}
        {!chosen.every(isEnded) && ' Open tasks are among them: their work is not done.'}
      </p>
    </fieldset>
  )
}

/** The purges under way. What was asked for stays in the record of the type's changes. */
export function Purges({ type: { type, purges = [] } }: { readonly type: ApiType }) {
  const { data: counts } = useQuery({ ...countsQuery(type), enabled: purges.length > 0 })
  return purges.map(({ status, before, askedAt }) => (
    <p key={`${askedAt} ${before} ${status}`} className="preview isolated" role="status">
      A purge that began <When at={askedAt} /> removes tasks from before <When at={before} as="both" /> that
      are {status.join(', ')}; {counts && `at most ${sumText(status.map(one => counts[one]))} are left.`} It
      ends with a second pass, a minute or more later.
    </p>
  ))
}
