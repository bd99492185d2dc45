/**
 * The dashboard. It speaks to the HTTP API that serves it, and to nothing else.
 *
 * - `router.tsx`: the pages and their addresses. What a page shows, filters included, stands in its address;
 * - `api/`: the client, the questions that pages ask, and what keeps the answers up to date;
 * - `shell/`: the frame around each page, with navigation, palette, keys and theme;
 * - `parts/`: what pages are made of;
 * - one folder for each page; `styles/`: how all of it looks.
 */

import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { startLive } from './api/live.ts'
import { queries } from './api/queries.ts'
import { router } from './router.tsx'

const root = document.querySelector('#root')
if (root) {
  startLive()
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={queries}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </StrictMode>,
  )
}
