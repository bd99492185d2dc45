import { Plus, X } from 'lucide-react'
import { useState } from 'react'
import { Button, IconButton } from '../parts/button.tsx'
import { type Field, firstValue, type JsonValue } from './schema.ts'
import {
  ChoiceField,
  type FieldProps,
  FlagField,
  FreeField,
  Hint,
  NumberField,
  SelectField,
  TextField,
  Title,
} from './value-fields.tsx'

/** The fields of a form, made from a schema. What a reader leaves empty is left out of the value. */
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

/** The members of the outermost object, without a frame of their own. */
export function SchemaForm({ field, value, onChange }: FieldProps) {
  if (field.kind !== 'object') return <SchemaField field={field} value={value} onChange={onChange} />
  return <Members field={field} value={value} onChange={onChange} />
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

/** The first variant that has all members of the value. */
function variantOf(variants: readonly Field[], value: JsonValue | undefined): number {
  const names = typeof value === 'object' && value !== null ? Object.keys(value) : []
  const fits = ({ kind, ...rest }: Field) =>
    kind === 'object' && 'members' in rest && names.every(name => rest.members.some(([own]) => own === name))
  return Math.max(0, variants.findIndex(fits))
}

let lastKey = 0

function newKey(): string {
  lastKey += 1
  return `item ${lastKey}`
}

/** Items have no names of their own. Each has a key beside it, so that its text stays with it when an earlier item is removed. */
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
