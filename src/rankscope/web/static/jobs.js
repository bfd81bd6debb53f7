// The page of a job follows it: the server sends the page's parts again whenever something has changed.
const job = document.getElementById("job");
const going = ["queued", "running", "cancelling"];
if (job && going.includes(job.dataset.state)) {
  const source = new EventSource(job.dataset.events);
  source.addEventListener("parts", (event) => {
    const { state, html } = JSON.parse(event.data);
    if (job.contains(document.activeElement) && state === job.dataset.state) {
      // what has the focus keeps it: a button that is about to be pressed must not vanish under the hand
      for (const part of ["[role=status]", "progress"]) {
        const fresh = new DOMParser().parseFromString(html, "text/html").querySelector(part);
        const old = job.querySelector(part);
        if (fresh && old) old.replaceWith(fresh);
      }
    } else job.innerHTML = html;
    job.dataset.state = state;
    if (!going.includes(state)) source.close();
  });
}
// The list of jobs is looked at again as long as something is going on in it.
if (document.querySelector(".job-list progress")) setTimeout(() => location.reload(), 5000);
