import { Plus, X } from 'lucide-react'
import { type ReactNode, useId, useState } from 'react'
import { Button, IconButton } from '../parts/controls.tsx'
import { JsonField } from '../parts/json.tsx'
import { emptyOf, type Field, firstValue, type JsonValue, variantOf } from './schema.ts'

/**
 * The fields of a form, made from a schema. What a reader leaves empty is left out of the value. The fields that have members come first,
 * then those that show one value, or JSON that a form cannot express.
 */

type FieldProps<Kind extends Field['kind'] = Field['kind']> = {
  readonly field: Extract<Field, { kind: Kind }>
  /** Undefined: left out. */
  readonly value: JsonValue | undefined
  readonly onChange: (value: JsonValue | undefined) => void
}

/** The members of the outermost object, without a frame of their own. */
export function SchemaForm({ field, value, onChange }: FieldProps) {
  if (field.kind !== 'object') return <SchemaField field={field} value={value} onChange={onChange} />
  return <Members field={field} value={value} onChange={onChange} />
}

function SchemaField({ field, value, onChange }: FieldProps) {
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

function ObjectField(props: FieldProps<'object'>) {
  const { field, value, onChange } = props
  if (!field.isRequired && value === undefined)
    return (
      <div className="field">
        <span>{field.title}</span>
        <span>
          <Button
            icon={Plus}
            text={`Add ${field.title}`}
            onClick={() => onChange(firstValue({ ...field, isRequired: true }) ?? {})}
          />
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

function Members({ field, value, onChange }: FieldProps<'object'>) {
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
function UnionField({ field, value, onChange }: FieldProps<'union'>) {
  const [chosen, setChosen] = useState(() => variantOf(field.variants, value))
  const variant = field.variants[chosen]
  return (
    <>
      <SelectField
        field={field}
        names={field.variants.map(({ title }) => title)}
        chosen={chosen}
        onChoose={(next = 0) => {
          setChosen(next)
          onChange(field.variants[next] && firstValue(field.variants[next]))
        }}
      />
      {variant?.kind === 'object' && <Members field={variant} value={value} onChange={onChange} />}
    </>
  )
}

let lastKey = 0

function newKey(): string {
  lastKey += 1
  return `item ${lastKey}`
}

/** Items have no names of their own. Each has a key next to it, so that its text stays with it when an earlier item is removed. */
function ListField({ field, value, onChange }: FieldProps<'list'>) {
  const items = Array.isArray(value) ? (value as readonly JsonValue[]) : []
  const [keys, setKeys] = useState<readonly string[]>(() => items.map(newKey))
  const replace = (at: number, item: JsonValue | undefined) =>
    onChange(items.map((one, index) => (index === at ? (item ?? null) : one)))
  const without = (at: number) => {
    const rest = items.filter((_, index) => index !== at)
    setKeys(keys.filter((_, index) => index !== at))
    onChange(rest.length === 0 && !field.isRequired ? undefined : rest)
  }
  const add = () => {
    setKeys([...keys, newKey()])
    onChange([...items, firstValue(field.item) ?? null])
  }
  return (
    <fieldset className="form-group">
      <legend>
        <Title field={field} />
      </legend>
      <Hint field={field} />
      {items.map((item, index) => (
        <div key={keys[index] ?? index} className="form-item">
          <SchemaField
            field={{ ...field.item, title: `${field.title} ${index + 1}` }}
            value={item ?? undefined}
            onChange={changed => replace(index, changed)}
          />
          <IconButton icon={X} label={`Remove ${field.title} ${index + 1}`} onClick={() => without(index)} />
        </div>
      ))}
      <span>
        <Button icon={Plus} text="Add" onClick={add} />
      </span>
    </fieldset>
  )
}

function FlagField({ field, value, onChange }: FieldProps<'flag'>) {
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

function ChoiceField({ field, value, onChange }: FieldProps<'choice'>) {
  const chosen = field.choices.findIndex(choice => JSON.stringify(choice) === JSON.stringify(value))
  return (
    <SelectField
      field={field}
      names={field.choices.map(choice => (typeof choice === 'string' ? choice : JSON.stringify(choice)))}
      chosen={chosen < 0 ? undefined : chosen}
      none={field.isRequired ? 'choose' : 'left out'}
      onChoose={index => onChange(index === undefined ? undefined : field.choices[index])}
    />
  )
}

type SelectProps = {
  readonly field: Field
  readonly names: readonly string[]
  readonly chosen: number | undefined
  /** The text of the empty choice. Without it a reader cannot choose nothing. */
  readonly none?: string
  readonly onChoose: (index: number | undefined) => void
}

/** A choice among names, by their positions. */
function SelectField({ field, names, chosen, none, onChoose }: SelectProps) {
  return (
    <Labelled field={field}>
      {id => (
        <select
          id={id}
          required={none !== undefined && field.isRequired}
          value={chosen === undefined ? LEFT_OUT : String(chosen)}
          onChange={({ target: { value } }) => onChoose(value === LEFT_OUT ? undefined : Number(value))}
        >
          {none !== undefined && <option value={LEFT_OUT}>{none}</option>}
          {names.map((name, index) => (
            <option key={name} value={String(index)}>
              {name}
            </option>
          ))}
        </select>
      )}
    </Labelled>
  )
}

function NumberField({ field, value, onChange }: FieldProps<'number'>) {
  return (
    <Labelled field={field}>
      {id => (
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
      )}
    </Labelled>
  )
}

function TextField({ field, value, onChange }: FieldProps<'text'>) {
  const { minLength, maxLength, pattern } = field.limits
  const common = {
    required: field.isRequired && !field.isNullable,
    minLength,
    maxLength,
    value: typeof value === 'string' ? value : '',
    onChange: ({ target }: { target: { value: string } }) =>
      onChange(target.value === '' ? emptyOf(field) : target.value),
  }
  return (
    <Labelled field={field}>
      {id =>
        field.isLong ? (
          <textarea id={id} rows={4} {...common} />
        ) : (
          <input id={id} type={field.type} pattern={pattern} {...common} />
        )
      }
    </Labelled>
  )
}

type LabelledProps = { readonly field: Field; readonly children: (id: string) => ReactNode }

/** A field under its title, with its hint below it. */
function Labelled({ field, children }: LabelledProps) {
  const id = useId()
  return (
    <div className="field">
      <label htmlFor={id}>
        <Title field={field} />
      </label>
      {children(id)}
      <Hint field={field} />
    </div>
  )
}

/** A part of the input that a form cannot express. While its text is not JSON, its form cannot be sent. */
function FreeField({ field, value, onChange }: FieldProps<'json'>) {
  const hint = field.hint ?? 'JSON; empty to leave it out.'
  return <JsonField label={field.title} first={value} onChange={onChange} rows={3} hint={hint} />
}

function Title({ field: { title, isRequired } }: { readonly field: Field }) {
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

function Hint({ field: { hint } }: { readonly field: Field }) {
  return hint === undefined ? null : <p className="faint">{hint}</p>
}
