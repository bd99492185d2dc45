import type { QueryKey } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { ProblemError } from '../../shared/client/problem-error.ts'
import type { FieldProblem } from '../../shared/core/values/values.ts'
import { isStale } from '../api/baton.ts'
import { tellProblem, useAction } from '../parts/controls.tsx'
import { FormDialog } from '../parts/dialog.tsx'
import { visible } from '../parts/format.ts'
import { ProblemsContext } from '../publish/fields.tsx'
import { FormOrJson } from '../publish/form-or-json.tsx'
import { differencesOf, problemTexts } from './settings.ts'

type Draw<Body> = (value: Body | undefined, onChange: (value: Body | undefined) => void) => ReactNode

type SettingsProps<Body> = {
  readonly label: string
  readonly hint: string
  /** Draws the form. Undefined: there is JSON only. */
  readonly form: Draw<Body> | undefined
  /** The problems of what is written, by the rules of the API. */
  readonly problemsOf: (body: Body) => readonly FieldProblem[]
  /** What the settings do, in sentences. */
  readonly preview: (body: Body) => ReactNode
}

type EditProps<Thing, Body> = SettingsProps<Body> & {
  readonly thing: Thing
  readonly title: string
  /** The configuration in an answer, in the form in which a request gives it. */
  readonly bodyOf: (thing: Thing) => Body
  readonly run: (body: Body & { readonly ifRevision: number }) => Promise<unknown>
  readonly done: string
  readonly changes: readonly QueryKey[]
  readonly onClose: () => void
}

type Revised = { readonly revision: number }

/**
 * Edits the settings of a thing, in a form or as JSON. The API's refusals are shown at their fields, and what is written stays as it is.
 * The revision that is sent is the revision of what the reader saw, so what another person changes meanwhile is not overwritten.
 */
export function EditDialog<Thing extends Revised, Body extends object>({
  readAgain,
  ...form
}: EditProps<Thing, Body> & { readonly readAgain: () => Promise<Thing> }) {
  const [begun, setBegun] = useState(form.thing)
  const [present, setPresent] = useState<Thing>()
  const read = async () => setPresent(await readAgain())
  const startOver = async () => {
    setBegun(await readAgain())
    setPresent(undefined)
  }
  return (
    <EditForm
      key={begun.revision}
      {...form}
      thing={begun}
      differences={present ? differencesOf(form.bodyOf(begun), form.bodyOf(present)) : []}
      onStale={() => void read().catch(tellProblem)}
      onStartOver={startOver}
    />
  )
}

type FormProps = {
  readonly differences: readonly string[]
  readonly onStale: () => void
  readonly onStartOver: () => Promise<void>
}

function EditForm<Thing extends Revised, Body extends object>(props: EditProps<Thing, Body> & FormProps) {
  const { thing, title, bodyOf, differences, onStale, onStartOver, onClose, ...settings } = props
  const [first] = useState(() => bodyOf(thing))
  const [body, setBody] = useState<Body | undefined>(first)
  const put = useAction({
    ...settings,
    run: (body: Body) => settings.run({ ...body, ifRevision: thing.revision }),
    after: onClose,
    onRefused: error => isStale(error) && onStale(),
  })
  return (
    <FormDialog
      title={title}
      action="Save"
      refusal="Keep as it is"
      isReady={!put.isPending && body !== undefined && settings.problemsOf(body).length === 0}
      stale={{ error: put.error, differences: differences.map(visible), onStartOver }}
      onSubmit={() => body !== undefined && put.mutate(body)}
      onClose={onClose}
    >
      <Settings
        {...settings}
        first={first}
        body={body}
        refused={put.variables === body ? put.error : undefined}
        onChange={setBody}
      />
    </FormDialog>
  )
}

type FieldsProps<Body> = SettingsProps<Body> & {
  readonly first: Body | undefined
  readonly body: Body | undefined
  /** Why the API has refused this body. */
  readonly refused: unknown
  readonly onChange: (body: Body | undefined) => void
}

/** The fields of settings, each with its problem, and below them what the settings do. */
export function Settings<Body>(props: FieldsProps<Body>) {
  const { label, hint, form, first, body, refused, problemsOf, preview, onChange } = props
  // What is not filled in yet is no problem before the reader has written something.
  const found = body === undefined || body === first ? [] : problemsOf(body)
  const problems = found.length > 0 ? found : errorsOf(refused)
  return (
    <ProblemsContext value={problems}>
      <FormOrJson
        label={label}
        hint={problemTexts(problems).join('; ') || hint}
        rows={18}
        first={first}
        onChange={onChange}
        form={form}
      />
      {body !== undefined && (
        <section className="preview isolated" aria-label="What this does" aria-live="polite">
          {preview(body)}
        </section>
      )}
    </ProblemsContext>
  )
}

function errorsOf(error: unknown): readonly FieldProblem[] {
  return error instanceof ProblemError ? (error.problem.errors ?? []) : []
}

/** Sentences, one below the other. */
export function Sentences({ of }: { readonly of: readonly string[] }) {
  return of.map(text => <p key={text}>{visible(text)}</p>)
}
