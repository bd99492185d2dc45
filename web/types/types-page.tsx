import { useQueries, useQuery } from '@tanstack/react-query'
import { Plus } from 'lucide-react'
import { useState } from 'react'
import { countsQuery, typesQuery } from '../api/queries.ts'
import { Button } from '../parts/button.tsx'
import { Failure, Loading } from '../parts/notes.tsx'
import { Card, Page } from '../parts/page.tsx'
import { PublishDialog } from '../publish/publish-dialog.tsx'
import { TypesTable } from './types-table.tsx'

/** All task types. */
export function TypesPage() {
  const { data: types, error, refetch } = useQuery(typesQuery)
  const answers = useQueries({ queries: (types ?? []).map(({ type }) => countsQuery(type)) })
  const [isPublishing, setPublishing] = useState(false)
  const isCounting = answers.some(({ isPending }) => isPending)
  const counts = new Map(
    (types ?? []).flatMap(({ type }, index) => {
      const data = answers[index]?.data
      return data ? [[type, data] as const] : []
    }),
  )
  return (
    <Page
      title="Types"
      actions={
        <Button look="accent" onClick={() => setPublishing(true)}>
          <Plus size={15} aria-hidden /> Publish a task
        </Button>
      }
    >
      {types && !isCounting && (
        <Card>
          <TypesTable types={types} counts={counts} />
        </Card>
      )}
      {!types && error && <Failure error={error} onRetry={refetch} />}
      {!error && (!types || isCounting) && <Loading rows={10} />}
      {isPublishing && <PublishDialog onClose={() => setPublishing(false)} />}
    </Page>
  )
}
