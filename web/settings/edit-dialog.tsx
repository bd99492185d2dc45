import { type QueryKey, queryOptions, useQuery } from '@tanstack/react-query'
import { type ReactNode, useMemo, useState } from 'react'
import { ProblemError } from '../../shared/client/problem-error.ts'
import type { FieldProblem } from '../../shared/core/values/values.ts'
import { baton, isStale } from '../api/baton.ts'
import { tellProblem, useAction } from '../parts/controls.tsx'
import { FormDialog } from '../parts/dialog.tsx'
import { visible } from '../parts/format.ts'
import { ProblemsContext } from '../publish/fields.tsx'
import { InputFields } from '../publish/publish-dialog.tsx'
import type { JsonSchema, JsonValue } from '../publish/schema.ts'
import { differencesOf, inWords } from './settings.ts'

type EditProps<Thing, Body> = {
  readonly thing: Thing
  readonly readAgain: () => Promise<Thing>
  readonly title: string
  /** What the button does that sends the settings. */
  readonly action?: string
  readonly label: string
  readonly hint: string
  /** The schema from which the form of these settings is made. Undefined: they are written as JSON. */
  readonly schemaOf: (body: Body) => JsonSchema | undefined
  /** The settings in an answer, in the form in which a request gives them. */
  readonly bodyOf: (thing: Thing) => Body
  /** The problems of what is written, by the rules of the API. */
  readonly problemsOf: (body: Body) => readonly FieldProblem[]
  /** What the settings do, in sentences. */
  readonly preview: (body: Body) => ReactNode
  readonly run: (body: Body & { readonly ifRevision: number }) => Promise<unknown>
  readonly done: string
  readonly changes: readonly QueryKey[]
  readonly onClose: () => void
}

/**
 * Edits the settings of a thing, in a form or as JSON. The problems are shown at their fields, and what is written stays as it is. The
 * revision that is sent is the revision of what the reader saw, so what another person changes meanwhile is not overwritten.
 */
export function EditDialog<Thing extends { readonly revision: number }, Body extends object>(
  props: EditProps<Thing, Body>,
) {
  const [begun, setBegun] = useState(props.thing)
  const startOver = async () => setBegun(await props.readAgain())
  return <EditForm key={begun.revision} {...props} thing={begun} onStartOver={startOver} />
}

type FormProps<Thing, Body> = EditProps<Thing, Body> & { readonly onStartOver: () => Promise<void> }

function EditForm<Thing extends { readonly revision: number }, Body extends object>(
  props: FormProps<Thing, Body>,
) {
  const { thing, readAgain, title, label, hint, schemaOf, bodyOf, problemsOf, preview, onStartOver } = props
  const [first] = useState(() => bodyOf(thing))
  const [body, setBody] = useState<Body | undefined>(first)
  const [differences, setDifferences] = useState<readonly string[]>([])
  const compare = async () => setDifferences(differencesOf(first, bodyOf(await readAgain())).map(visible))
  const put = useAction({
    ...props,
    run: (body: Body) => props.run({ ...body, ifRevision: thing.revision }),
    after: props.onClose,
    onRefused: error => isStale(error) && void compare().catch(tellProblem),
  })
  const found = body ? problemsOf(body) : []
  const refused = put.variables === body ? errorsOf(put.error) : []
  // What is not filled in yet is not shown as a problem before the reader has written something.
  const problems = body === first ? refused : [...found, ...refused]
  return (
    <FormDialog
      title={title}
      action={props.action ?? 'Save'}
      isReady={!put.isPending && body !== undefined && found.length === 0}
      stale={{ error: put.error, differences, onStartOver }}
      onSubmit={() => body !== undefined && put.mutate(body)}
      onClose={props.onClose}
    >
      <ProblemsContext value={problems}>
        <InputFields
          label={label}
          hint={problems.map(({ path, message }) => `${path} ${message}`).join('; ') || hint}
          schema={schemaOf(body ?? first)}
          given={first as JsonValue}
          onChange={changed => setBody(changed as Body | undefined)}
        />
      </ProblemsContext>
      <section className="preview isolated" aria-label="What this does" aria-live="polite">
        {body && found.length === 0 && preview(body)}
      </section>
    </FormDialog>
  )
}

function errorsOf(error: unknown): readonly FieldProblem[] {
  return error instanceof ProblemError ? (error.problem.errors ?? []) : []
}

export function Sentences({ of }: { readonly of: readonly string[] }) {
  return of.map(text => <p key={text}>{visible(text)}</p>)
}

type Components = { readonly schemas: Readonly<Record<string, JsonSchema>> }

/** The schemas of the bodies of the API, which are the same for as long as the page is open. */
const schemasQuery = queryOptions({
  queryKey: ['schemas'],
  queryFn: async () => (await baton.openapi()).components as Components,
  staleTime: Number.POSITIVE_INFINITY,
})

/** Schemas of the API in words. Undefined while they are read, and empty where the system does not describe itself. */
export function useSchemas(): Components['schemas'] | undefined {
  const { data, isError } = useQuery(schemasQuery)
  return useMemo(() => {
    const schemas = Object.entries(data?.schemas ?? {}).map(([name, one]) => [name, inWords(one)])
    return data || isError ? Object.fromEntries(schemas) : undefined
  }, [data, isError])
}
