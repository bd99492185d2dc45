import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Plus } from 'lucide-react'
import { useContext, useEffect, useMemo, useState } from 'react'
import type { PublishBody } from '../../shared/api/publish.ts'
import type { ApiTask } from '../../shared/api/tasks.ts'
import { baton } from '../api/baton.ts'
import { typesQuery } from '../api/queries.ts'
import { InputField, Opener, Segments, Select, useAction } from '../parts/controls.tsx'
import { FormDialog, UnsendableContext } from '../parts/dialog.tsx'
import { JsonField } from '../parts/json.tsx'
import { firstValue, formOf, type JsonSchema, type JsonValue } from './schema.ts'
import { SchemaForm } from './schema-form.tsx'

/** Opens the dialog that publishes a task: of this type, or of one that the reader chooses. */
export function PublishButton({ type }: { readonly type?: string }) {
  return (
    <Opener
      look="accent"
      icon={Plus}
      iconSize={15}
      text="Publish a task"
      dialog={close => <PublishDialog {...(type !== undefined && { type })} onClose={close} />}
    />
  )
}

type PublishProps = { readonly type?: string; readonly copyOf?: ApiTask; readonly onClose: () => void }

/** Publishes a task: one of a type, or a copy of another one under a new key. */
export function PublishDialog({ type: given, copyOf, onClose }: PublishProps) {
  const { data: types = [] } = useQuery(typesQuery)
  const [chosen, setChosen] = useState(given ?? copyOf?.type)
  const type = chosen ?? types[0]?.type
  const [input, setInput] = useState<JsonValue>()
  const [options, setOptions] = useState<Partial<PublishBody> | undefined>(copyOf ? optionsOf(copyOf) : {})
  const publish = usePublish(onClose)
  // Before the types are there, the form has no input, and its list of types is empty.
  const isLoaded = types.length > 0 && type !== undefined
  return (
    <FormDialog
      title={copyOf ? 'Publish a copy' : 'Publish a task'}
      action="Publish"
      refusal="Close"
      isReady={isLoaded && !publish.isPending}
      onSubmit={form => publish.mutate(bodyOf(form, input, options))}
      onClose={onClose}
    >
      {copyOf?.startedAt && (
        <p>
          The original has run. What it has done, such as a mail or a charge, its copy does a second time.
        </p>
      )}
      <TargetFields type={type} names={types.map(one => one.type)} onChoose={setChosen} />
      {types.length > 0 && (
        <InputFields
          key={type}
          schema={types.find(one => one.type === type)?.inputSchema}
          given={copyOf?.type === type ? (copyOf?.input as JsonValue | undefined) : undefined}
          onChange={setInput}
        />
      )}
      <JsonField
        label="Options"
        first={options}
        onChange={setOptions}
        rows={4}
        hint='For example {"priority": 5, "userId": "ada", "tags": {"team": "video"}, "retry": {"maxRetries": 0}}.'
      />
    </FormDialog>
  )
}

/** Sends the task, and shows its page. */
function usePublish(onClose: () => void) {
  const navigate = useNavigate()
  return useAction({
    run: (body: PublishBody) => baton.publish(body),
    done: ({ created }) => (created ? 'The task was published' : 'A task of this key exists already'),
    changes: [['tasks'], ['counts']],
    after: ({ id }) => {
      onClose()
      void navigate({ to: '/tasks/$id', params: { id }, search: {} })
    },
  })
}

type TargetProps = {
  readonly type: string | undefined
  readonly names: readonly string[]
  readonly onChoose: (type: string) => void
}

/** The type, the key and the delay. */
function TargetFields({ type = '', names, onChoose }: TargetProps) {
  return (
    <div className="field-row">
      <Select
        label="Type"
        name="type"
        value={type}
        required
        options={names.map(one => [one, one])}
        onChoose={onChoose}
      />
      <InputField label="Key" name="key" autoComplete="off" maxLength={200} placeholder="a new one" />
      <InputField label="Delay in seconds" name="delay" type="number" min={0} step="any" placeholder="0" />
    </div>
  )
}

type InputProps = {
  readonly label?: string
  readonly hint?: string
  readonly schema: JsonSchema | undefined
  readonly given: JsonValue | undefined
  readonly onChange: (input: JsonValue | undefined) => void
}

/** A value that a reader writes: in a form where a schema is known that one can be made from, or as JSON. */
export function InputFields({
  label = 'Input',
  hint = 'JSON; empty for no input.',
  schema,
  given,
  onChange,
}: InputProps) {
  const form = useMemo(() => formOf(schema), [schema])
  const [isText, setText] = useState(form === undefined)
  const { unsendable } = useContext(UnsendableContext)
  const [value, setValue] = useState(() => given ?? (form && firstValue(form)))
  // Without a change, what the form begins with is published.
  // biome-ignore lint/correctness/useExhaustiveDependencies: later changes are reported as they happen
  useEffect(() => onChange(value), [])
  const change = (changed: JsonValue | undefined) => {
    setValue(changed)
    onChange(changed)
  }
  return (
    <div className="stack">
      {form && (
        <Segments
          label={`${label} as`}
          choices={['Form', 'JSON']}
          chosen={isText ? 'JSON' : 'Form'}
          // To leave a text that has no value would lose it.
          disabled={unsendable > 0}
          onChoose={one => setText(one === 'JSON')}
        />
      )}
      {form && !isText ? (
        <SchemaForm field={form} value={value} onChange={change} />
      ) : (
        <JsonField label={label} first={value} onChange={change} hint={hint} />
      )}
    </div>
  )
}

function bodyOf(
  form: FormData,
  input: JsonValue | undefined,
  options: Partial<PublishBody> | undefined,
): PublishBody {
  const text = (name: string) => String(form.get(name) ?? '').trim()
  return {
    ...options,
    type: text('type'),
    ...(text('key') !== '' && { key: text('key') }),
    ...(text('delay') !== '' && { delayMs: Math.round(Number(text('delay')) * 1_000) }),
    ...(input !== undefined && { input: input as NonNullable<PublishBody['input']> }),
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
