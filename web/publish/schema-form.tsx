import { Plus, X } from 'lucide-react'
import { type ReactNode, useContext, useState } from 'react'
import { Button, IconButton } from '../parts/controls.tsx'
import {
  ChoiceField,
  type FieldProps,
  FlagField,
  FreeField,
  Hint,
  NumberField,
  PathContext,
  SelectField,
  TextField,
  Title,
} from './fields.tsx'
import { firstValue, type JsonValue, switched, variantOf } from './schema.ts'

/**
 * The fields of a form, made from a schema. What a reader leaves empty is left out of the value. This file has the fields that have
 * members, and `fields.tsx` those that show one value.
 */

/** A member of a value. Its problems are those at its own path. */
function Member({ name, ...props }: FieldProps & { readonly name: string | number }) {
  const path = useContext(PathContext)
  return (
    <PathContext value={path === '' ? String(name) : `${path}.${name}`}>
      <SchemaField {...props} />
    </PathContext>
  )
}

/** The members of the outermost object, without a frame of their own. */
export function SchemaForm({ field, value, onChange }: FieldProps) {
  const rest = { value, onChange }
  return field.kind === 'object' ? (
    <Members field={field} {...rest} />
  ) : (
    <SchemaField field={field} {...rest} />
  )
}

function SchemaField({ field, ...rest }: FieldProps) {
  const Kind = KINDS[field.kind] as (props: FieldProps) => ReactNode
  return <Kind field={field} {...rest} />
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
          <Button className="link-button" text="leave out" onClick={() => onChange(undefined)} />
        )}
      </legend>
      <Hint field={field} />
      <Members {...props} />
    </fieldset>
  )
}

function Members({ field, value, onChange }: FieldProps<'object'>) {
  const object: Readonly<Record<string, JsonValue>> = Array.isArray(value) ? {} : Object(value)
  return field.members.map(([name, member]) => (
    <Member
      key={name}
      name={name}
      field={member}
      value={object[name]}
      onChange={changed => {
        const { [name]: _former, ...others } = object
        onChange(changed === undefined ? others : { ...others, [name]: changed })
      }}
    />
  ))
}

/** A choice among several objects or constants, and the members of the chosen one. */
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
          onChange(field.variants[next] && switched(field.variants[next], value))
        }}
      />
      {variant?.kind === 'object' && <Members field={variant} value={value} onChange={onChange} />}
    </>
  )
}

let lastKey = 0
const newKey = () => `item ${++lastKey}`

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
          <Member
            name={index}
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

const KINDS = {
  ...{ object: ObjectField, list: ListField, flag: FlagField, choice: ChoiceField, number: NumberField },
  ...{ text: TextField, union: UnionField, json: FreeField },
}
