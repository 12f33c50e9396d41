"""Remember and Forget Experience Replay (ReF-ER) and V-RACER, Novati and Koumoutsakos 2019."""
