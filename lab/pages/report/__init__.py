"""One static HTML page of all papers: claims, figures, deviations, cost. It is no paper, and knows all of them."""
