import { Plus, X } from 'lucide-react'
import { useId, useState } from 'react'
import { JsonField, jsonOf, jsonProblem } from '../json/json-field.tsx'
import { Button } from '../parts/button.tsx'
import { type Field, firstValue, type JsonValue } from './schema.ts'

type Props<Kind extends Field['kind'] = Field['kind']> = {
  readonly field: Extract<Field, { kind: Kind }>
  /** Undefined: left out. */
  readonly value: JsonValue | undefined
  readonly onChange: (value: JsonValue | undefined) => void
}

/** The fields of a form, made from a schema. What a reader leaves empty is left out of the value. */
function SchemaField({ field, value, onChange }: Props) {
  switch (field.kind) {
    case 'object':
      return <ObjectField field={field} value={value} onChange={onChange} />
    case 'list':
      return <ListField field={field} value={value} onChange={onChange} />
    case 'flag':
      return <FlagField field={field} value={value} onChange={onChange} />
    case 'choice':
      return <ChoiceField field={field} value={value} onChange={onChange} />
    case 'number':
      return <NumberField field={field} value={value} onChange={onChange} />
    case 'text':
      return <TextField field={field} value={value} onChange={onChange} />
    case 'union':
      return <UnionField field={field} value={value} onChange={onChange} />
    case 'json':
      return <FreeField field={field} value={value} onChange={onChange} />
  }
}

/** The members of the outermost object, without a frame of their own. */
export function SchemaForm({ field, value, onChange }: Props) {
  if (field.kind === 'union') return <UnionField field={field} value={value} onChange={onChange} />
  if (field.kind !== 'object') return <SchemaField field={field} value={value} onChange={onChange} />
  return <Members field={field} value={value} onChange={onChange} />
}

function ObjectField(props: Props<'object'>) {
  const { field, value, onChange } = props
  if (!field.isRequired && value === undefined)
    return (
      <div className="field">
        <span>{field.title}</span>
        <span>
          <Button onClick={() => onChange(firstValue({ ...field, isRequired: true }) ?? {})}>
            <Plus size={14} aria-hidden /> Add {field.title}
          </Button>
        </span>
      </div>
    )
  return (
    <fieldset className="form-group">
      <legend>
        <Title field={field} />
        {!field.isRequired && (
          <button type="button" className="link-button" onClick={() => onChange(undefined)}>
            leave out
          </button>
        )}
      </legend>
      <Hint field={field} />
      <Members {...props} />
    </fieldset>
  )
}

function Members({ field, value, onChange }: Props<'object'>) {
  const object = (
    typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {}
  ) as Record<string, JsonValue>
  return field.members.map(([name, member]) => (
    <SchemaField
      key={name}
      field={member}
      value={object[name]}
      onChange={changed => {
        const { [name]: _former, ...others } = object
        onChange(changed === undefined ? others : { ...others, [name]: changed })
      }}
    />
  ))
}

/** A choice among several objects, and the members of the chosen one. */
function UnionField({ field, value, onChange }: Props<'union'>) {
  const id = useId()
  const [chosen, setChosen] = useState(() => variantOf(field.variants, value))
  const variant = field.variants[chosen]
  return (
    <>
      <div className="field">
        <label htmlFor={id}>
          <Title field={field} />
        </label>
        <select
          id={id}
          value={String(chosen)}
          onChange={({ target }) => {
            const next = Number(target.value)
            setChosen(next)
            onChange(field.variants[next] && firstValue(field.variants[next]))
          }}
        >
          {field.variants.map(({ title }, index) => (
            <option key={title} value={String(index)}>
              {title}
            </option>
          ))}
        </select>
      </div>
      {variant?.kind === 'object' && <Members field={variant} value={value} onChange={onChange} />}
    </>
  )
}

/** The first variant that has all members of the value. */
function variantOf(variants: readonly Field[], value: JsonValue | undefined): number {
  const names = typeof value === 'object' && value !== null ? Object.keys(value) : []
  const fits = ({ kind, ...rest }: Field) =>
    kind === 'object' && 'members' in rest && names.every(name => rest.members.some(([own]) => own === name))
  return Math.max(0, variants.findIndex(fits))
}

function ListField({ field, value, onChange }: Props<'list'>) {
  const items = Array.isArray(value) ? (value as readonly JsonValue[]) : []
  const replace = (at: number, item: JsonValue | undefined) =>
    onChange(items.map((one, index) => (index === at ? (item ?? null) : one)))
  const without = (at: number) => {
    const rest = items.filter((_, index) => index !== at)
    onChange(rest.length === 0 && !field.isRequired ? undefined : rest)
  }
  return (
    <fieldset className="form-group">
      <legend>
        <Title field={field} />
      </legend>
      <Hint field={field} />
      {items.map((item, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: items have no names of their own
        <div key={index} className="form-item">
          <SchemaField
            field={{ ...field.item, title: `${field.title} ${index + 1}` }}
            value={item ?? undefined}
            onChange={changed => replace(index, changed)}
          />
          <button
            type="button"
            className="icon-button"
            aria-label={`Remove ${field.title} ${index + 1}`}
            onClick={() => without(index)}
          >
            <X size={14} aria-hidden />
          </button>
        </div>
      ))}
      <span>
        <Button onClick={() => onChange([...items, firstValue(field.item) ?? null])}>
          <Plus size={14} aria-hidden /> Add
        </Button>
      </span>
    </fieldset>
  )
}

function FlagField({ field, value, onChange }: Props<'flag'>) {
  return (
    <div className="field">
      <label className="check-field">
        <input type="checkbox" checked={value === true} onChange={event => onChange(event.target.checked)} />
        <Title field={{ ...field, isRequired: false }} />
      </label>
      <Hint field={field} />
    </div>
  )
}

const LEFT_OUT = ''

function ChoiceField({ field, value, onChange }: Props<'choice'>) {
  const id = useId()
  const chosen = field.choices.findIndex(choice => JSON.stringify(choice) === JSON.stringify(value))
  return (
    <div className="field">
      <label htmlFor={id}>
        <Title field={field} />
      </label>
      <select
        id={id}
        required={field.isRequired}
        value={chosen < 0 ? LEFT_OUT : String(chosen)}
        onChange={({ target }) =>
          onChange(target.value === LEFT_OUT ? undefined : field.choices[Number(target.value)])
        }
      >
        <option value={LEFT_OUT}>{field.isRequired ? 'choose' : 'left out'}</option>
        {field.choices.map((choice, index) => (
          <option key={JSON.stringify(choice)} value={String(index)}>
            {typeof choice === 'string' ? choice : JSON.stringify(choice)}
          </option>
        ))}
      </select>
      <Hint field={field} />
    </div>
  )
}

function NumberField({ field, value, onChange }: Props<'number'>) {
  const id = useId()
  return (
    <div className="field">
      <label htmlFor={id}>
        <Title field={field} />
      </label>
      <input
        id={id}
        type="number"
        required={field.isRequired && !field.isNullable}
        step={field.isWhole ? 1 : 'any'}
        min={field.min}
        max={field.max}
        value={typeof value === 'number' ? value : ''}
        onChange={({ target }) => onChange(target.value === '' ? emptyOf(field) : target.valueAsNumber)}
      />
      <Hint field={field} />
    </div>
  )
}

function TextField({ field, value, onChange }: Props<'text'>) {
  const id = useId()
  const { minLength, maxLength, pattern } = field.limits
  const common = {
    id,
    required: field.isRequired && !field.isNullable,
    minLength,
    maxLength,
    value: typeof value === 'string' ? value : '',
    onChange: ({ target }: { target: { value: string } }) =>
      onChange(target.value === '' ? emptyOf(field) : target.value),
  }
  return (
    <div className="field">
      <label htmlFor={id}>
        <Title field={field} />
      </label>
      {field.isLong ? (
        <textarea rows={4} {...common} />
      ) : (
        <input type={field.type} pattern={pattern} {...common} />
      )}
      <Hint field={field} />
    </div>
  )
}

/** A part of the input that a form cannot express. */
function FreeField({ field, value, onChange }: Props<'json'>) {
  const [text, setText] = useState(value === undefined ? '' : JSON.stringify(value, undefined, 2))
  return (
    <JsonField
      label={field.title}
      text={text}
      rows={3}
      hint={field.hint ?? 'JSON; empty to leave it out.'}
      onChange={changed => {
        setText(changed)
        if (jsonProblem(changed) === undefined) onChange(jsonOf(changed) as JsonValue | undefined)
      }}
    />
  )
}

/** What an emptied field stands for: null where the schema allows it and demands a value, else nothing. */
function emptyOf({ isRequired, isNullable }: Field): JsonValue | undefined {
  return isRequired && isNullable ? null : undefined
}

function Title({ field: { title, isRequired } }: { readonly field: Pick<Field, 'title' | 'isRequired'> }) {
  return (
    <span>
      {title}
      {isRequired && (
        <span className="required" aria-hidden>
          {' '}
          *
        </span>
      )}
    </span>
  )
}

function Hint({ field: { hint } }: { readonly field: Pick<Field, 'hint'> }) {
  return hint === undefined ? null : <p className="faint">{hint}</p>
}
