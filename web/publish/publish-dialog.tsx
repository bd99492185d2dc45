import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import type { PublishBody } from '../../shared/api/publish.ts'
import type { ApiTask } from '../../shared/api/tasks.ts'
import { baton } from '../api/baton.ts'
import { typesQuery } from '../api/queries.ts'
import { useAction } from '../parts/action.ts'
import { Button } from '../parts/button.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { JsonField, jsonOf, jsonProblem } from '../parts/json-field.tsx'

/** Publishes a task: one of a type, or a copy of another one under a new key. */
export function PublishDialog({
  type,
  copyOf,
  onClose,
}: {
  readonly type?: string
  readonly copyOf?: ApiTask
  readonly onClose: () => void
}) {
  const navigate = useNavigate()
  const [input, setInput] = useState(
    copyOf?.input === undefined ? '' : JSON.stringify(copyOf.input, undefined, 2),
  )
  const [options, setOptions] = useState(JSON.stringify(copyOf ? optionsOf(copyOf) : {}, undefined, 2))
  const publish = useAction({
    run: (body: PublishBody) => baton.publish(body),
    done: ({ created }) => (created ? 'The task was published' : 'A task of this key exists already'),
    changes: [['tasks'], ['counts']],
    after: ({ id }) => {
      onClose()
      void navigate({ to: '/tasks/$id', params: { id }, search: {} })
    },
  })
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    publish.mutate(bodyOf(new FormData(event.currentTarget), input, options))
  }
  const hasProblem = [input, options].some(text => jsonProblem(text) !== undefined)
  return (
    <Dialog title={copyOf ? 'Publish a copy' : 'Publish a task'} look="wide" onClose={onClose}>
      <form onSubmit={submit}>
        <div className="dialog-body">
          <div className="field-row">
            <TypeField type={type ?? copyOf?.type} />
            <label className="field">
              Key
              <input name="key" autoComplete="off" maxLength={200} placeholder="a new one" />
            </label>
            <label className="field">
              Delay in seconds
              <input name="delay" type="number" min={0} step="any" placeholder="0" />
            </label>
          </div>
          <JsonField
            label="Input"
            text={input}
            onChange={setInput}
            rows={10}
            hint="JSON; empty for no input."
          />
          <JsonField
            label="Options"
            text={options}
            onChange={setOptions}
            rows={4}
            hint='For example {"priority": 5, "userId": "ada", "tags": {"team": "video"}, "retry": {"maxRetries": 0}}.'
          />
        </div>
        <footer className="dialog-foot">
          <Button onClick={onClose}>Close</Button>
          <Button look="accent" type="submit" disabled={publish.isPending || hasProblem}>
            Publish
          </Button>
        </footer>
      </form>
    </Dialog>
  )
}

function TypeField({ type }: { readonly type: string | undefined }) {
  const { data: types = [] } = useQuery(typesQuery)
  return (
    <label className="field">
      Type
      <select name="type" defaultValue={type} key={types.length} required>
        {types.map(({ type: name }) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </label>
  )
}

function bodyOf(form: FormData, input: string, options: string): PublishBody {
  const text = (name: string) => String(form.get(name) ?? '').trim()
  return {
    ...(jsonOf(options) as Partial<PublishBody> | undefined),
    type: text('type'),
    ...(text('key') !== '' && { key: text('key') }),
    ...(text('delay') !== '' && { delayMs: Math.round(Number(text('delay')) * 1_000) }),
    ...(input.trim() !== '' && { input: jsonOf(input) as NonNullable<PublishBody['input']> }),
  }
}

function optionsOf({ priority, userId, tags, fairnessKey }: ApiTask): Partial<PublishBody> {
  return {
    ...(priority !== 0 && { priority }),
    ...(userId !== undefined && { userId }),
    ...(tags !== undefined && { tags }),
    ...(fairnessKey !== undefined && { fairnessKey }),
  }
}
