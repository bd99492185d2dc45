import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useEffect, useMemo, useState } from 'react'
import type { PublishBody } from '../../shared/api/publish.ts'
import type { ApiTask } from '../../shared/api/tasks.ts'
import { baton } from '../api/baton.ts'
import { typesQuery } from '../api/queries.ts'
import { JsonField, jsonOf, jsonProblem } from '../json/json-field.tsx'
import { useAction } from '../parts/action.tsx'
import { FormDialog, useFormUnsendable } from '../parts/dialog.tsx'
import { firstValue, formOf, type JsonValue } from './schema.ts'
import { SchemaForm } from './schema-form.tsx'

/** The input as the fields have it. `problem` says why a text has no value. */
type Input = { readonly value: JsonValue | undefined; readonly problem?: string | undefined }

/** Publishes a task: one of a type, or a copy of another one under a new key. */
export function PublishDialog({
  type: given,
  copyOf,
  onClose,
}: {
  readonly type?: string
  readonly copyOf?: ApiTask
  readonly onClose: () => void
}) {
  const { data: types = [] } = useQuery(typesQuery)
  const [chosen, setChosen] = useState(given ?? copyOf?.type)
  const type = chosen ?? types[0]?.type
  const [input, setInput] = useState<Input>()
  const [options, setOptions] = useState(JSON.stringify(copyOf ? optionsOf(copyOf) : {}, undefined, 2))
  const publish = usePublish(onClose)
  const problem = input?.problem ?? jsonProblem(options)
  // Before the types are there, the form has no input, and its list of types is empty.
  const isLoaded = types.length > 0 && type !== undefined
  const choose = (name: string) => {
    setChosen(name)
    setInput(undefined)
  }
  return (
    <FormDialog
      title={copyOf ? 'Publish a copy' : 'Publish a task'}
      action="Publish"
      isReady={isLoaded && !publish.isPending && problem === undefined}
      onSubmit={form => publish.mutate(bodyOf(form, input?.value, options))}
      onClose={onClose}
    >
      <TargetFields type={type} names={types.map(one => one.type)} onChoose={choose} />
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
        text={options}
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

/** The type, the key and the delay. */
function TargetFields({
  type = '',
  names,
  onChoose,
}: {
  readonly type: string | undefined
  readonly names: readonly string[]
  readonly onChoose: (type: string) => void
}) {
  return (
    <div className="field-row">
      <label className="field">
        Type
        <select name="type" value={type} required onChange={({ target }) => onChoose(target.value)}>
          {names.map(name => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <label className="field">
        Key
        <input name="key" autoComplete="off" maxLength={200} placeholder="a new one" />
      </label>
      <label className="field">
        Delay in seconds
        <input name="delay" type="number" min={0} step="any" placeholder="0" />
      </label>
    </div>
  )
}

/** The input: a form where the type has registered a schema that one can be made from, and JSON otherwise. */
function InputFields({
  schema,
  given,
  onChange,
}: {
  readonly schema: { readonly [name: string]: unknown } | undefined
  readonly given: JsonValue | undefined
  readonly onChange: (input: Input) => void
}) {
  const form = useMemo(() => formOf(schema), [schema])
  const [isText, setText] = useState(form === undefined)
  const [value, setValue] = useState(() => given ?? (form && firstValue(form)))
  const [text, setInputText] = useState(() => textOf(given ?? (form && firstValue(form))))
  // Without a change, what the form begins with is published.
  // biome-ignore lint/correctness/useExhaustiveDependencies: later changes are told as they happen
  useEffect(() => onChange({ value }), [])
  const change = (changed: JsonValue | undefined) => {
    setValue(changed)
    onChange({ value: changed })
  }
  const changeText = (changed: string) => {
    setInputText(changed)
    const problem = jsonProblem(changed)
    const parsed = problem === undefined ? (jsonOf(changed) as JsonValue | undefined) : undefined
    if (problem === undefined) setValue(parsed)
    onChange({ value: parsed, problem })
  }
  const showText = (isShown: boolean) => {
    setText(isShown)
    setInputText(textOf(value))
    onChange({ value })
  }
  return (
    <div className="stack">
      {form && <FormOrText isText={isText} onChoose={showText} />}
      {form && !isText ? (
        <SchemaForm field={form} value={value} onChange={change} />
      ) : (
        <JsonField
          label="Input"
          text={text}
          onChange={changeText}
          rows={10}
          hint="JSON; empty for no input."
        />
      )}
    </div>
  )
}

function FormOrText({
  isText,
  onChoose,
}: {
  readonly isText: boolean
  readonly onChoose: (isText: boolean) => void
}) {
  // To leave a text that has no value would lose it.
  const isStuck = useFormUnsendable()
  return (
    <fieldset className="segments" aria-label="Input as">
      <button type="button" aria-pressed={!isText} disabled={isStuck} onClick={() => onChoose(false)}>
        Form
      </button>
      <button type="button" aria-pressed={isText} disabled={isStuck} onClick={() => onChoose(true)}>
        JSON
      </button>
    </fieldset>
  )
}

function textOf(value: JsonValue | undefined): string {
  return value === undefined ? '' : JSON.stringify(value, undefined, 2)
}

function bodyOf(form: FormData, input: JsonValue | undefined, options: string): PublishBody {
  const text = (name: string) => String(form.get(name) ?? '').trim()
  return {
    ...(jsonOf(options) as Partial<PublishBody> | undefined),
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
